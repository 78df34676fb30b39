"""Every exception of callblocks, by whose fault it is.

    CallblocksError
    ├── ToolError                a tool says why it failed, with a code of its own
    ├── TimelineError            a timeline that cannot be read or written, with a code
    ├── ModelError               a language model that gives no reply, with a code
    └── CallerError              the caller asked for what cannot be
        ├── UnknownDialect       no dialect of that name
        ├── ParserClosed         feed() or close() after close()
        ├── NotText              a piece that is not a string
        ├── BadSpec              tools that are not tool specifications
        ├── BadTool              a function or module that gives no tool
        ├── UnknownTool          no tool of that name in a registry
        ├── MissingExtra         packages of an extra are not installed (`model.extras`)
        ├── BadPolicy            a policy that is none
        ├── BadPath              a text that names nothing on a timeline
        ├── NotABlock            something else where a timeline takes blocks
        ├── TurnRunning          a second turn while one runs
        ├── Unwritable           a value that a dialect cannot say
        └── Unsupported          a dialect that does not teach or constrain

Faults of a model's text are never exceptions: they are `Malformed` and `Problem` events
with stable codes. Faults of a tool, of a policy and of the machine become outcomes: only the
function of a tool raises `ToolError`, and whatever else it raises becomes an outcome too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from callblocks.core.text import brief

__all__ = (
    "BadPath",
    "BadPolicy",
    "BadSpec",
    "BadTool",
    "CallblocksError",
    "CallerError",
    "ModelError",
    "NotABlock",
    "NotText",
    "ParserClosed",
    "TimelineError",
    "ToolError",
    "TurnRunning",
    "UnknownDialect",
    "UnknownTool",
    "Unsupported",
    "Unwritable",
)


class CallblocksError(Exception):
    """The root of all exceptions of callblocks."""


class CallerError(CallblocksError):
    """The caller's mistake: the message names the value and a correction."""


class ToolError(CallblocksError):
    """Raised by the function of a tool: the call failed, and this is why.

    The message is for the model: it says what to do instead.
    """

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class TimelineError(CallblocksError):
    """A timeline cannot be read or written: the machine's fault, or another writer's.

    The codes are those of `callblocks.timeline.timeline`.
    """

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class ModelError(CallblocksError):
    """A language model gave no reply, or not all of it.

    The codes are those of `callblocks.models.model`.
    """

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class UnknownDialect(CallerError, LookupError):
    """No dialect has that name."""

    def __init__(self, name: object, known: Iterable[str], near: Sequence[str] = ()) -> None:
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        super().__init__(f"no dialect {brief(name, 60)}; {hint}choose from: {', '.join(known)}")
        self.name = name
        self.near = tuple(near)


class ParserClosed(CallerError):
    """The parser was closed: a new text needs a new parser."""


class NotText(CallerError, TypeError):
    """A piece must be a `str`."""

    def __init__(self, piece: object) -> None:
        hint = "; decode bytes first" if isinstance(piece, bytes | bytearray) else ""
        super().__init__(f"a piece is a str, not {type(piece).__name__}: {brief(piece, 60)}{hint}")


class BadSpec(CallerError, ValueError):
    """Tools that are not tool specifications."""


class BadTool(CallerError, TypeError):
    """A function or module that gives no tool; the message says which one, and what it lacks."""


class UnknownTool(CallerError, LookupError):
    """A registry has no tool of that name; `near` is the one that was probably meant."""

    def __init__(
        self, name: object, known: Iterable[str], near: str = "", *, install: str = ""
    ) -> None:
        hint = f"; did you mean {near}?" if near else ""
        names = ", ".join(known) or "none"
        words = f"no tool {brief(name)}; there are: {names}{hint}"
        super().__init__(
            f"the tool {brief(name)} is not installed: {install}" if install else words
        )
        self.name = name


class BadPolicy(CallerError, ValueError):
    """An invalid policy; the message names the rule and the key."""


class BadPath(CallerError, ValueError):
    """A text that is no path of a timeline; `code` is `bad_path`, or `unsafe_path`."""

    def __init__(self, text: str, problem: str, code: str = "bad_path") -> None:
        super().__init__(f"{brief(text)} {problem}")
        self.code = code


class NotABlock(CallerError, TypeError):
    """A timeline takes blocks only."""

    def __init__(self, given: object) -> None:
        super().__init__(f"a timeline takes a Block, not {type(given).__name__}: {brief(given)}")


class TurnRunning(CallerError):
    """A conversation has one turn at a time."""


class Unwritable(CallerError, ValueError):
    """A dialect cannot express this value; the message names it."""

    def __init__(self, dialect: str, what: str) -> None:
        super().__init__(f"{dialect} cannot write {what}")
        self.dialect = dialect
        self.what = what


class Unsupported(CallerError):
    """The dialect does not have this feature at all."""
