"""A field before and after, for the person who approves; cuts are always visible.

description: 'as it was' becomes 'as it will be'
"""

from __future__ import annotations

__all__ = ("change_line", "cut", "whole")

_LONGEST = 20_000


def change_line(field: str, old: object, new: object) -> str:
    """Describe a field with its old and its new value."""
    return f"{field}: {whole(old)} becomes {whole(new)}"


def whole(value: object) -> str:
    """Return a value in quotes, on one line."""
    return cut(repr(value), _LONGEST)


def cut(text: str, longest: int) -> str:
    """Return a text, or its start and the length of the rest."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text) - longest} more characters)"
