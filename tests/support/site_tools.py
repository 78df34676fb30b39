"""Tools for browser tests: they wait, fail, echo, and keep files."""

from __future__ import annotations

from typing import Literal

from callblocks.core.errors import ToolError
from callblocks.tools.context import Context
from callblocks.tools.declare import tool
from callblocks.tools.tool import Tool
from support.documents import pdf_page, png
from support.gates import Gates

__all__ = ("TABLE", "site_tools")

TABLE = "place,low,high\nHolm Island,06:12,12:31\nSkerry Point,06:40,12:58\nOld Quay,07:05,13:20\n"
_PLAN = "# Crossing\n\n1. **Check** the tide\n2. Walk\n\n| leg | km |\n|---|--:|\n| sands | 2.4 |\n"
_CODE = "def crossing(low: str) -> str:\n    return f'cross at {low}'\n"

Kind = Literal["pdf", "image", "table", "text", "code", "bytes"]


def site_tools(gates: Gates) -> tuple[Tool, ...]:
    """The tools; `wait` waits at one of these."""

    @tool(read_only=True)
    async def wait(name: str, context: Context, result: str = "done waiting") -> str:
        """Wait until a test lets it go.

        Args:
            name: which gate
            result: what to say then
        """
        context.report(f"waiting for {name}")
        await gates.passed(name)
        return result

    @tool(read_only=True)
    def say(text: str = "") -> str:
        """Say a text.

        Args:
            text: what to say
        """
        return text

    @tool(read_only=True)
    def lines(count: int) -> str:
        """Say many lines.

        Args:
            count: how many
        """
        return "".join(f"line {at} of what was found\n" for at in range(1, count + 1))

    @tool(read_only=True)
    def fail(message: str = "no such place", code: str = "not_found") -> str:
        """Fail.

        Args:
            message: why
            code: the code of the failure
        """
        raise ToolError(code, message)

    @tool(read_only=True)
    def page(url: str, text: str, context: Context) -> str:
        """A page of others, as if it had been fetched.

        Args:
            url: where it is
            text: what it says
        """
        context.taint(f"page of others: {url}")
        return text

    @tool(read_only=True)
    def make(kind: Kind, name: str, context: Context) -> str:
        """Make a file.

        Args:
            kind: what is in it
            name: how it is called
        """
        content, mime = _FILES[kind]()
        context.keep(name, content, mime)
        return f"made {name}"

    @tool(destructive=True)
    def act(what: str) -> str:
        """Do something that is asked for first.

        Args:
            what: what to do
        """
        return f"did {what}"

    return wait, say, lines, fail, page, make, act


def _island(width: int = 64, height: int = 48) -> bytes:
    """A map: an island in the sea, lighter where the land is."""

    def shade(x: int, y: int) -> int:
        away = ((x - width / 2) / width) ** 2 + ((y - height / 2) / height) ** 2
        return 230 if away < 0.05 else 190 if away < 0.08 else 90

    rows = (bytes((0, *(shade(x, y) for x in range(width)))) for y in range(height))
    return png(b"".join(rows), width, height)


_FILES = {
    "pdf": lambda: (pdf_page(["Tide table", "Holm Island: low water 06:12"]), "application/pdf"),
    "image": lambda: (_island(), "image/png"),
    "table": lambda: (TABLE, "text/csv"),
    "text": lambda: (_PLAN, "text/markdown"),
    "code": lambda: (_CODE, "text/x-python"),
    "bytes": lambda: (bytes(range(256)) * 8, "application/octet-stream"),
}
