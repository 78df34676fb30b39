"""Short texts of arbitrary values, for messages."""

from __future__ import annotations

__all__ = ("brief",)


def brief(value: object, width: int = 80) -> str:
    """Return a value in at most `width` characters; its type name if it has no `repr`.

    A value that is nested too deep, or a number of too many digits, has no `repr`.
    """
    try:
        said = repr(value)
    except (RecursionError, ValueError):
        said = f"<{type(value).__name__}>"
    return said[:width]
