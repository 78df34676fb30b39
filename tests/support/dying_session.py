"""Sessions that are killed in the middle of a turn, in forked processes.

    with SessionForks() as forks:
        forks.die(folder, "after the effect")

The turn calls `act`, whose effect is a line in a file, and then answers.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Self

from callblocks.approvals.question import Answer, Question
from callblocks.core.blocks import Entry
from callblocks.core.calls import Call
from callblocks.models.model import Piece, Request
from callblocks.session.host import Host
from callblocks.timeline.timeline import Timeline
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool
from support.scripted_sessions import ASK_ALL, Never, Replies, some_host, write

__all__ = ("ACT", "ANSWER", "POINTS", "SessionForks", "acting_host", "effects_of", "yes")

POINTS = (
    "before the prompt",
    "after the prompt",
    "before the first piece",
    "in the middle of a reply",
    "before the call is written",
    "after the call is written",
    "while a person is asked",
    "after the intent",
    "after the effect",
    "before the result",
    "after the result",
    "before the answer",
    "after the answer",
)
ACT = Call(id="c1", name="act", input={"what": "x"})
ANSWER = "All is done."
_SECONDS = 120

_TYPES = {
    "user.prompt": ("before the prompt", "after the prompt"),
    "react.tool.call": ("before the call is written", "after the call is written"),
    "react.tool.result": ("before the result", "after the result"),
    "assistant.completion": ("before the answer", "after the answer"),
}


class Trap:
    """Kills the process at its point."""

    def __init__(self, point: str = "") -> None:
        self._point = point

    def __call__(self, point: str) -> None:
        if point and point == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


def acting(folder: Path, trap: Trap) -> Tool:
    """A tool whose effect can be seen."""

    @tool(open_world=True)
    def act(what: str) -> str:
        """Act."""
        trap("after the intent")
        with (folder / "effects").open("a") as file:
            file.write(f"{what}\n")
        trap("after the effect")
        return f"did {what}"

    return act


def effects_of(folder: Path) -> list[str]:
    """What was done, each time that it was."""
    file = folder / "effects"
    return file.read_text().split() if file.exists() else []


class Acting(Replies):
    """A model that acts in its first round, and answers in the next."""

    def __init__(self, trap: Trap, *, is_silent: bool = False) -> None:
        calling = write("tool-fence", "I act.\n", ACT)
        both = (lambda request: calling if request.round == 1 else ANSWER,) * 9
        super().__init__(*([[calling[:20], Never]] if is_silent else both))
        self._trap = trap

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        if request.round == 1:
            self._trap("before the first piece")
        async for piece in super().reply(request):
            yield piece
            if request.round == 1:
                self._trap("in the middle of a reply")


def acting_host(folder: Path, trap: Trap | None = None, **settings: Any) -> tuple[Acting, Host]:
    """A host whose model acts, and which asks before it does."""
    own = trap or Trap()
    model = Acting(own, **settings)
    return model, some_host(folder, model, tools=Registry([acting(folder, own)]), policy=ASK_ALL)


async def yes(question: Question) -> Answer:
    """A person who agrees."""
    return Answer("once")


def live(folder: Path, point: str) -> None:
    """A turn that dies at a point."""
    signal.alarm(_SECONDS)
    trap = Trap(point)
    append = Timeline.append

    def watched(self: Timeline, blocks: Any, expected: int | None = None) -> list[Entry]:
        made = list(blocks)
        points = [_TYPES[block.type] for block in made if block.type in _TYPES]
        for before, _ in points:
            trap(before)
        entries = append(self, made, expected)
        for _, after in points:
            trap(after)
        return entries

    Timeline.append = watched

    async def ask(question: Question) -> Answer:
        trap("while a person is asked")
        return Answer("once")

    _, host = acting_host(folder, trap)
    asyncio.run(host.session("talk", ask).run("Go.", tell=lambda event: None))


class SessionForks:
    """The process that forks; it ends with the block."""

    def __enter__(self) -> Self:
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.dying_session"],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def die(self, folder: Path, point: str) -> None:
        """Have a session live and die."""
        orders, deaths = self._process.stdin, self._process.stdout
        assert orders is not None
        assert deaths is not None
        orders.write(f"{folder}\t{point}\n")
        orders.flush()
        assert int(deaths.readline()) == -signal.SIGKILL, point


def main() -> None:
    """Fork a session for each order."""
    for line in sys.stdin:
        folder, _, point = line.rstrip("\n").partition("\t")
        child = os.fork()
        if not child:
            try:
                live(Path(folder), point)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
