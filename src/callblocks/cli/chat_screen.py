"""Where turns are shown to a person: a screen for each, and what is to be said below it."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from callblocks.cli.chat_keys import echoing
from callblocks.cli.chat_turn import Begin, TurnShown, ended_rows, perform_turn
from callblocks.cli.io import STDIN
from callblocks.cli.paging import page
from callblocks.cli.paint import Paper
from callblocks.cli.screen import Screen, open_screen
from callblocks.cli.state import ARTIFACTS, state_folder
from callblocks.model.outcomes import Outcome
from callblocks.model.turn_events import TurnEnded
from callblocks.session.session import Session
from callblocks.views.rows import Row

__all__ = ("ChatScreen",)


class ChatScreen:
    """Shows one turn at a time; `outcomes` are those of the last."""

    def __init__(self) -> None:
        self.paper = Paper()
        self.outcomes: list[Outcome] = []
        self._screen: Screen | None = None

    @property
    def width(self) -> int:
        """Columns that rows may have."""
        return self.paper.width

    def print(self, rows: Sequence[Row]) -> None:
        """Print rows, while no turn is shown."""
        self.paper.print(rows)

    def page(self, rows: Iterable[Row]) -> None:
        """Print what may be long, with a pager; Ctrl-C ends that and no more."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            page(self.paper, rows)
        except KeyboardInterrupt:
            self.print([()])
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def aside(self) -> Generator[None]:
        """Leave the terminal to a question."""
        if self._screen is None:
            yield
        else:
            with self._screen.aside(), echoing(True):
                yield

    async def play(self, session: Session, begin: Begin) -> TurnEnded | None:
        """Show a turn as it happens, and then what came of it."""
        # The window may have another size by now.
        self.paper = Paper()
        self._screen = open_screen(STDIN, self.paper, expanded=True, live=True)
        shown = TurnShown(self._screen)
        try:
            with self._quiet(), self._screen:
                ended = await perform_turn(session, begin, shown)
        finally:
            self._screen, self.outcomes = None, shown.outcomes
        if ended is not None:
            folder = str(state_folder() / ARTIFACTS)
            self.print([*ended_rows(ended, shown.outcomes, folder, self.width), ()])
        return ended

    def _quiet(self) -> AbstractContextManager[None]:
        """What is typed while a person watches does not get among what is drawn."""
        return echoing(False) if self.paper.terminal else nullcontext()
