"""A value in a message: the start of what it looks like, whatever it is."""

from __future__ import annotations

__all__ = ("brief",)


def brief(value: object, width: int = 80) -> str:
    """Say a value in at most `width` characters; one that cannot say itself is named by its type.

    What is nested too deep, or a number of too many digits, has no `repr`.
    """
    try:
        said = repr(value)
    except (RecursionError, ValueError):
        said = f"<{type(value).__name__}>"
    return said[:width]
