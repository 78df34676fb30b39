"""Texts of a known shape and size in every dialect."""

from __future__ import annotations

from functools import cache

from callblocks import Call, ToolSpec, dialects
from callblocks.model.errors import Unwritable

__all__ = ("many_calls", "one_call", "prose", "tools_of")

SENTENCE = "The quick brown fox jumps over the lazy dog, and nobody asks it why it would.\n"
STRING = {"type": "string"}
TOOL = ToolSpec("drive_create", "", {"properties": {"name": STRING, "content": STRING}})
LINE = "a line of a file, as long as such lines are\n"


def prose(size: int) -> str:
    """Plain paragraphs without any marker."""
    return (SENTENCE * (size // len(SENTENCE) + 1))[:size]


def one_call(dialect: str, size: int) -> str:
    """A sentence, if there is room for it, and one call whose input has `size` characters."""
    call = _call(dialect, 0, (LINE * (size // len(LINE) + 1))[:size])
    try:
        return _write(dialect, ["Here it is.\n", call])
    except Unwritable:
        return _write(dialect, [call])


def many_calls(dialect: str, count: int) -> str:
    """Small calls, one after the other."""
    return _write(dialect, [_call(dialect, number, "hello") for number in range(count)])


@cache
def tools_of(dialect: str) -> tuple[ToolSpec, ...]:
    """The tool that the calls are of, where a dialect must know it."""
    call = Call(id="c0", name=TOOL.name, input={"name": "x", "content": "y"})
    try:
        dialects[dialect].write([call])
    except Unwritable:
        return () if dialect.startswith("emoji") else (TOOL,)
    return ()


def _call(dialect: str, number: int, content: str) -> Call:
    if dialect.startswith("emoji"):
        value = {"args": "notes.txt", "body": content}
    elif dialect == "chat-blocks":
        value = {"shown": content.replace("\n", " ")}
    else:
        value = {"name": "notes.txt", "content": content}
    return Call(id=f"c{number}", name=TOOL.name, input=value)


def _write(dialect: str, items: list[str | Call]) -> str:
    return dialects[dialect].write(items, tools_of(dialect))
