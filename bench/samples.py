"""Texts of a known shape and size in every dialect."""

from __future__ import annotations

from callblocks import Call, dialects

__all__ = ("many_calls", "one_call", "prose")

SENTENCE = "The quick brown fox jumps over the lazy dog, and nobody asks it why it would.\n"
LINE = "a line of a file, as long as such lines are\n"


def prose(size: int) -> str:
    """Plain paragraphs without any marker."""
    return (SENTENCE * (size // len(SENTENCE) + 1))[:size]


def one_call(dialect: str, size: int) -> str:
    """A sentence, and one call whose input has `size` characters."""
    return _write(
        dialect, ["Here it is.\n", _call(dialect, 0, (LINE * (size // len(LINE) + 1))[:size])]
    )


def many_calls(dialect: str, count: int) -> str:
    """Small calls, one after the other."""
    return _write(dialect, [_call(dialect, number, "hello") for number in range(count)])


def _call(dialect: str, number: int, content: str) -> Call:
    if dialect.startswith("emoji"):
        value = {"args": "notes.txt", "body": content}
    elif dialect == "chat-blocks":
        value = {"shown": content.replace("\n", " ")}
    else:
        value = {"name": "notes.txt", "content": content}
    return Call(id=f"c{number}", name="drive_create", input=value)


def _write(dialect: str, items: list[str | Call]) -> str:
    return dialects[dialect].write(items)
