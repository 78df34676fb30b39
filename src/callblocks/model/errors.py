"""Every exception of callblocks, by whose fault it is.

    CallblocksError
    └── CallerError              the caller asked for what cannot be
        ├── UnknownDialect       no dialect of that name
        ├── ParserClosed         feed() or close() after close()
        ├── NotText              a piece that is not a string
        ├── BadSpec              tools that are not tool specifications
        ├── Unwritable           a value that a dialect cannot say
        └── Unsupported          a dialect that does not teach or constrain

Faults of a model's text are never exceptions: they are `Malformed` and `Problem` events
with stable codes.
"""

from __future__ import annotations

from collections.abc import Iterable

from callblocks.model.brief import brief

__all__ = (
    "BadSpec",
    "CallblocksError",
    "CallerError",
    "NotText",
    "ParserClosed",
    "UnknownDialect",
    "Unsupported",
    "Unwritable",
)


class CallblocksError(Exception):
    """The root of all."""


class CallerError(CallblocksError):
    """The caller's mistake: the message names the value and the way out."""


class UnknownDialect(CallerError, LookupError):
    """No dialect has that name."""

    def __init__(self, name: object, known: Iterable[str]) -> None:
        super().__init__(f"no dialect {name!r}; choose from: {', '.join(known)}")
        self.name = name


class ParserClosed(CallerError):
    """The parser was closed: a new text needs a new parser."""


class NotText(CallerError, TypeError):
    """A piece must be a `str`."""

    def __init__(self, piece: object) -> None:
        hint = "; decode bytes first" if isinstance(piece, bytes | bytearray) else ""
        super().__init__(f"a piece is a str, not {type(piece).__name__}: {brief(piece, 60)}{hint}")


class BadSpec(CallerError, ValueError):
    """Tools that are not tool specifications."""


class Unwritable(CallerError, ValueError):
    """A dialect cannot say this value; the message names it."""

    def __init__(self, dialect: str, what: str) -> None:
        super().__init__(f"{dialect} cannot write {what}")
        self.dialect = dialect
        self.what = what


class Unsupported(CallerError):
    """The dialect does not do this at all."""
