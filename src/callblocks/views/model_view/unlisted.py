"""What a folded view no longer lists: how much it was, and the files by which it can be found.

    [folded]: 12 calls and 3 messages that came before are not listed here; their files, the newest
    first: fi:turn_2.files/b.md, fi:turn_1.files/a.md and 7 more; read one again with react.read(…)

That is one line. Files are named as far as an eighth of the budget reaches.
"""

from __future__ import annotations

from callblocks.timeline.rounds import CallKey
from callblocks.views.model_view.folded import again, files_of, is_message
from callblocks.views.model_view.layout import word
from callblocks.views.model_view.section import Scale, Section

__all__ = ("Unlisted",)

_SHARE = 8


class Unlisted:
    """Counts what is unlisted. `line` stands for all of it, at the top; "" for nothing."""

    def __init__(self, scale: Scale) -> None:
        self.line = ""
        self._scale = scale
        self._calls = self._messages = 0
        self._files: dict[str, None] = {}
        self._named = 0
        self._last: CallKey | None = None
        """The call of what was unlisted last, which is counted once."""

    @property
    def room(self) -> int:
        """How many tokens longer the line may become for the files that it names."""
        return max(0, self._share - self._named)

    @property
    def _share(self) -> int:
        return (self._scale.limit or 0) // _SHARE

    def take(self, section: Section) -> None:
        """Count a section; `settle` makes the line when all are taken."""
        is_call = bool(section.key[1]) and not is_message(section)
        self._calls += is_call and section.key != self._last
        self._messages += not is_call
        self._last = section.key if is_call else self._last
        for path in files_of(section):
            self._files.pop(path, None)
            self._files[path] = None

    def settle(self) -> None:
        """Say what was taken."""
        if self._calls or self._messages:
            files = self._named_files()
            self._named = self._scale.text(files)
            counts = f"{self._calls} calls and {self._messages} messages"
            self.line = f"[folded]: {counts} that came before are not listed here{files}\n"

    def _named_files(self) -> str:
        """The files that there is room for; nothing where there is none."""
        newest: list[str] = []
        cost = 0
        for path in reversed(self._files):
            cost += self._scale.text(f", {word(path)}")
            if cost > self._share:
                break
            newest.append(path)
        # What the words around them cost is known only when they stand together.
        while newest and self._scale.text(self._words(newest)) > self._share:
            newest.pop()
        return self._words(newest) if newest else ""

    def _words(self, paths: list[str]) -> str:
        more = len(self._files) - len(paths)
        rest = f" and {more} more" if more else ""
        listed = ", ".join(map(word, paths))
        return f"; their files, the newest first: {listed}{rest}{again(paths[:1], 'one')}"
