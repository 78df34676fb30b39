"""`python -m bench.workspace [--smaller N]`: what each of the 37 types costs on a large office.

The first call of a service reads what is there into its index; the next ones find it. Each type
runs as a tool does, through its check, on the same office. Searches must come within 50 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import msgspec

from bench.timing import print_table
from bench.workspace_office import Sizes, fill_office
from callblocks.core.outcomes import Artifact
from callblocks.core.specs import CATALOGUE
from callblocks.guard.files.root import Root
from callblocks.guard.net.client import Client
from callblocks.guard.sandbox.sandbox import Limits
from callblocks.toolkits.office.open_office import EXAMPLES
from callblocks.toolkits.standard import standard_tools
from callblocks.toolkits.terminal_tools import terminal_tools
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Context

__all__ = ("main",)

ROUNDS = 7
SEARCHES = ("search", "gmail_search", "drive_search", "calendar_events")
MOST = 0.050
"""Seconds that a search may take, once its index is there."""

_SLOW = ("terminal_execute", "file_ingest")
_LARGE: dict[str, dict[str, Any]] = {
    "search": {"query": "lighthouse gale anchor", "limit": 10},
    "gmail_search": {"query": "from:anchor lighthouse -storm", "maxResults": 10},
    "drive_search": {"query": "fullText contains 'lighthouse' and name contains 'gale'"},
    "sheets_read": {"spreadsheetId": "", "range": "Sheet1!A1:T500"},
    "sheets_write": {"spreadsheetId": "", "range": "Sheet1!A900:C900", "values": [[1, 2, 3]]},
    "sheets_append": {"spreadsheetId": "", "range": "Sheet1!A1", "values": [[1, 2, 3]]},
    "sheets_clear": {"spreadsheetId": "", "range": "Sheet1!A950:T950"},
}
"""Inputs that meet the large part of the office, where the example would not."""


def main() -> None:
    """Fill an office, time each type, and print the table; a slow search ends the program."""
    parser = argparse.ArgumentParser(prog="python -m bench.workspace")
    parser.add_argument("--smaller", type=int, default=1, metavar="N", help="divide all sizes by N")
    sizes = Sizes().smaller(parser.parse_args().smaller)
    with tempfile.TemporaryDirectory(prefix="callblocks-bench-") as folder:
        began = perf_counter()
        fill_office(Path(folder) / "office", sizes)
        held = ", ".join(f"{size:,} {name}" for name, size in msgspec.structs.asdict(sizes).items())
        print(f"{held}: laid in {perf_counter() - began:.0f} s")
        times = asyncio.run(_time_all(Path(folder)))
    rows = [
        [name, f"{first * 1000:,.1f}", f"{next_ * 1000:,.1f}"]
        for name, (first, next_) in times.items()
    ]
    print_table("each type, in milliseconds", ["type", "first", "next"], rows)
    late = [name for name in SEARCHES if times[name][1] > MOST]
    if late:
        sys.exit(f"slower than {MOST * 1000:.0f} ms: {', '.join(late)}")


async def _time_all(workspace: Path) -> dict[str, tuple[float, float]]:
    async with await asyncio.start_server(_answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with Root(workspace) as root:
            standard = standard_tools(root, Client(allow=(f"127.0.0.1:{port}",)))
            # So many files are more than a command gets a copy of, unless that is allowed.
            terminal = Registry(terminal_tools(root, limits=Limits(copy_files=100_000)))
            tools = standard.without(terminal.names) | terminal
            inputs = _Inputs(tools, port)
            await inputs.look()
            return {name: await _time(tools, name, inputs) for name in CATALOGUE}


async def _time(tools: Registry, name: str, inputs: _Inputs) -> tuple[float, float]:
    """The time of the first call, and the median of the next ones."""
    rounds = 2 if name in _SLOW else ROUNDS
    before = await _read_all(tools, inputs) if name == "search" else 0.0
    first, *more = [await _call(tools, name, inputs.of(name, at)) for at in range(rounds)]
    return before + first, median(more)


async def _read_all(tools: Registry, inputs: _Inputs) -> float:
    """Search until every file is in the index: one call reads some, and says what is left."""
    began = perf_counter()
    while True:
        context = Context()
        await asyncio.to_thread(tools["search"], **inputs.of("search", 0), context=context)
        if all(notice.code != "index_behind" for notice in context.notices):
            return perf_counter() - began


async def _call(tools: Registry, name: str, given: dict[str, Any]) -> float:
    tool = tools[name]
    if tool.name == "custom":
        tool, given = tools[given["name"]], given["parameters"]
    values = dict(tool.check(given).values)
    if tool.context:
        values[tool.context] = Context("c1", "", keep=_keep)
    began = perf_counter()
    if inspect.iscoroutinefunction(tool.function):
        await tool(**values)
    else:
        await asyncio.to_thread(tool, **values)
    return perf_counter() - began


class _Inputs:
    """The input of each call: that of the example, or one that meets what is large.

    What can be done only once has another id each time.
    """

    def __init__(self, tools: Registry, port: int) -> None:
        self._tools = tools
        self._port = port
        self._sheet = ""
        self._files: list[str] = []

    async def look(self) -> None:
        """Find out ids that the office chose itself."""
        listed = self._tools["drive_search"]
        found = listed(query="name = 'Large'", context=Context())
        self._sheet = found["files"][0]["id"]
        found = listed(query="name contains 'rope'", maxResults=ROUNDS, context=Context())
        self._files = [file["id"] for file in found["files"]]

    def of(self, name: str, at: int) -> dict[str, Any]:
        """The input of one call."""
        given = {**_LARGE.get(name, EXAMPLES[name])}
        match name:
            case "api_call":
                given["url"] = f"http://127.0.0.1:{self._port}/"
            case "drive_delete":
                given["fileId"] = self._files[at % len(self._files)]
            case "calendar_delete":
                given["eventId"] = f"bench{at + 1}"
            case "tasks_delete":
                given = {"taskListId": "boat", "taskId": f"bench{at}"}
            case "sheets_read" | "sheets_write" | "sheets_append" | "sheets_clear":
                given["spreadsheetId"] = self._sheet
            case _:
                pass
        return given


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    await writer.drain()
    writer.close()


def _keep(name: str, content: bytes, mime: str) -> Artifact:
    return Artifact(path=f"kept/{name}", size=len(content), digest="", mime=mime)


if __name__ == "__main__":
    main()
