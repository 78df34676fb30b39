"""The path of one `file_write` call through a session, as modules and packages.

A scripted model writes a file, the policy allows it, and a chat shows the outcome. Each entry of
a Python frame of callblocks is counted, in every thread. A change of package is an entry whose
package (`callblocks.NAME`) differs from that of the entry before. The call is read when its block
is ready, and shown when the chat has drawn the event with its outcome. An earlier turn loads the
modules that are imported late.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import FrameType

from bench.timing import print_table
from callblocks.core.events import CallEnded, TurnEvent
from callblocks.models.scripted import ScriptedModel
from callblocks.parsing.engine.block import Block
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.host import Host, HostSettings
from callblocks.views.chat.chat import Chat, TurnChat
from callblocks.views.rows import plain
from callblocks.views.terminal.terminal import Terminal

__all__ = ("main",)

MODULES = 40
PACKAGES = 60
"""The aim: at most this many modules, and changes of package, from the call read to its line."""

PROMPT = "Write the plan"
SCRIPT = """---
match: [write the plan]
pace: 0
---
I save it.

🛠️[file_write plan.md]
low water 06:12
🛠️[/end]

<!-- results -->

It is saved.
"""
POLICY = Policy((Rule(decide="allow", tool=("file_write",)),))
READ = Block.ready.__code__
FIRST = ScriptedModel.reply.__code__


class Trace:
    """The modules that were entered, in order; `first`, `read` and `shown` are places in it."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget what was entered; threads that live on keep this trace as their profiler."""
        self.entered: list[str] = []
        self.functions: list[object] = []
        self.first = self.read = self.shown = -1

    def take(self, frame: FrameType, event: str, _: object) -> None:
        """Note an entry; the functions of `sys.setprofile` have this form."""
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith("callblocks."):
            return
        if frame.f_code is FIRST and self.first < 0:
            self.first = len(self.entered)
        if frame.f_code is READ and self.read < 0:
            self.read = len(self.entered)
        self.entered.append(module)
        self.functions.append(frame.f_code)

    def row(self, label: str, start: int) -> list[str]:
        """Return the figures from a place to the outcome shown."""
        entered = self.entered[start : self.shown]
        functions = len(set(self.functions[start : self.shown]))
        packages = [module.split(".")[1] for module in entered]
        changes = sum(before != after for before, after in pairwise(packages))
        figures = (len(entered), functions, len(set(entered)), changes)
        return [label, *(f"{figure:,}" for figure in figures)]


class Watched:
    """A chat that draws each event of a turn; `lines` are what it showed of the outcome."""

    def __init__(self, trace: Trace) -> None:
        self.lines: list[str] = []
        self._trace = trace
        self._turn, self._chat = TurnChat(), Chat()
        self._terminal = Terminal(expanded=True, width=100)

    def tell(self, event: TurnEvent) -> None:
        """Draw what may still change, as a screen does."""
        self._chat.feed(self._turn.feed(event))
        rows = self._terminal.copy().draw(self._chat.items)
        if isinstance(event, CallEnded):
            self._trace.shown = len(self._trace.entered)
            self.lines = [plain(row) for row in rows]


def main() -> None:
    """Print the figures, and the modules in order of first entry."""
    with tempfile.TemporaryDirectory() as folder:
        trace = _traced(Path(folder))
    head = ["from … to the outcome shown", "entries", "functions", "modules", "changes of package"]
    rows = [
        trace.row("the call read", trace.read),
        ["  at most", "", "", str(MODULES), str(PACKAGES)],
        trace.row("the first character", trace.first),
        trace.row("the prompt", 0),
    ]
    print_table("one `file_write` through a session", head, rows)
    since_first = Counter(trace.entered[trace.first : trace.shown])
    since_read = Counter(trace.entered[trace.read : trace.shown])
    modules = [
        [module.removeprefix("callblocks."), str(count), str(since_read[module] or "")]
        for module, count in since_first.items()
    ]
    head = ["module, by first entry", "entries", "since the call was read"]
    print_table("the modules from the first character on", head, modules)


def _traced(folder: Path) -> Trace:
    for name in ("talks", "work"):
        (folder / name).mkdir()
    (folder / "talks" / "plan.md").write_text(SCRIPT, "utf-8")
    settings = HostSettings(
        state=folder / "state",
        workspace=folder / "work",
        model=ScriptedModel(folder / "talks"),
        policy=POLICY,
    )
    with Host(settings) as host:
        trace = Trace()
        asyncio.run(_turn(host, "before", trace))
        trace.clear()
        watched = asyncio.run(_turn(host, "measured", trace))
    assert any("wrote 16 bytes" in line for line in watched.lines), watched.lines
    assert 0 <= trace.first < trace.read < trace.shown
    return trace


async def _turn(host: Host, name: str, trace: Trace) -> Watched:
    """Take one turn under the profiler: in this thread, and in those that the turn starts."""
    session, watched = host.session(name), Watched(trace)
    threading.setprofile(trace.take)
    sys.setprofile(trace.take)
    try:
        ended = await session.run(PROMPT, tell=watched.tell)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert ended.status == "answered", ended
    return watched


if __name__ == "__main__":
    main()
