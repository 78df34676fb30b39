"""Call ids: unique within one text.

A written id keeps its spelling unless it was used before; then it gets the suffix `-2`, `-3`, …. A
call without one gets the next free `tool-call-N`. The fork of a parser has ids of its own that know
those of the outer parser, so that a refused fork leaves no trace (see `FencedCalls`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = (
    "GENERAL_CODES",
    "Ids",
    "is_made",
    "read_id",
)

_MADE = re.compile(r"tool-call-[0-9]+")


class Ids:
    """The ids that were given out in one text."""

    def __init__(self, outer: Ids | None = None) -> None:
        """Start with the ids of `outer` as used; `outer` learns of new ones only by `join`."""
        self._used: set[str] = set()
        self._made = outer._made if outer else 0
        self._copies: dict[str, int] = {}
        self._outer = outer

    def join(self, inner: Ids) -> None:
        """Take over the ids that a fork gave out."""
        # `_made` and `_copies` of the fork continued those of this one, so they replace them.
        self._used |= inner._used
        self._made = inner._made
        self._copies |= inner._copies

    def make(self) -> str:
        """Return the next `tool-call-N` that is not in use."""
        while True:
            self._made += 1
            made = f"tool-call-{self._made}"
            if not self._is_used(made):
                self._used.add(made)
                return made

    def claim(self, written: str) -> str:
        """Return the id as written, or with the first of `-2`, `-3`, … that makes it unique."""
        # The last suffix is remembered per id: counting up from 2 each time is quadratic where a
        # model gives the same id to every call.
        claimed = written
        while self._is_used(claimed):
            self._copies[written] = self._count(written) + 1
            claimed = f"{written}-{self._copies[written]}"
        self._used.add(claimed)
        return claimed

    def _is_used(self, id_: str) -> bool:
        return id_ in self._used or (self._outer is not None and self._outer._is_used(id_))

    def _count(self, written: str) -> int:
        """Return the last suffix number that was tried for an id, at least 1."""
        outer = self._outer._count(written) if self._outer else 1
        return self._copies.get(written, outer)


def is_made(id_: str) -> bool:
    """Return whether an id has the form of those that are given to calls without one."""
    return _MADE.fullmatch(id_) is not None


def read_id(value: object) -> str | None:
    """Return a written id: a string that is not blank, or a number as its decimal text."""
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    return None


# --- The codes of problems that any text may have; a dialect declares its own ---
#
# A code is stable: programs compare it. The detail beside it is for people and may change.

# Each code with its meaning.
GENERAL_CODES: Mapping[str, str] = {
    "duplicate-id": "a call has an id that was used before; it was renamed",
    "damaged-marker": "a marker went through a wrong encoding; it was read all the same",
    "too-deep": "an input is nested deeper than `Limits.depth`",
    "too-large": "an input is longer than `Limits.input_size`",
    "too-many-calls": "the text has more calls than `Limits.calls`",
    "mistyped-argument": "an argument does not fit its schema; it was kept as text",
    "repaired-arguments": "the arguments stood beside the name, not in an object of their own",
    "repaired-braces": "braces were doubled, or too many closed",
    "repaired-closing": "closing brackets or the closing marker were missing",
    "repaired-commas": "a comma stood where nothing follows, or was missing",
    "repaired-comments": "comments stood in JSON; they were left out",
    "repaired-fence": "a Markdown fence stood around the JSON of a call",
    "repaired-input": "the arguments were given as a string that holds JSON",
    "repaired-keys": "a key stood twice in an object; the last one counts",
    "repaired-repeats": "an argument was given more than once; it was read as a list",
    "repaired-literals": "`True`, `False` or `None` stood for JSON's own words",
    "repaired-name": "blanks, marks or a namespace stood around the name of a tool",
    "repaired-opening": "the opening marker of a call was missing",
    "repaired-quotes": "strings were in single quotes, or keys in none",
    "repaired-strings": "line breaks, quotes or backslashes stood in a string as they are",
    "unrepaired": "a call has what `strict` does not repair",
    "repeated-argument": "an argument is given twice: nobody knows which one counts",
    "repaired-escapes": "a list or an object was written with its quotes escaped",
    "missing-wrapper": "a call stands without the tag that should wrap it",
    "missing-closer": "a closing tag is missing; what comes next closed it",
    "misspelt-tag": "a tag is not spelt as its grammar says; it was read all the same",
    "stray-closer": "a closing marker closes nothing; it was left out",
    "stray-text": "text stands between calls or the arguments of a call; it was left out",
    "unmatched-tags": "a value holds a tag of arguments that nothing opens or closes; it was kept",
    "empty-calls": "a wrapper of calls holds no call",
    "repaired-wrapping": "all arguments stood in one that the tool does not have",
    "arguments-not-json": "the arguments of a call should be a JSON object and are none",
    "arguments-not-yaml": "the arguments of a call should be a YAML mapping and are none",
    "truncated-call": "the text ended inside a call",
    "positional-arguments": "arguments without a name; they were bound in the tool's order",
    "unbound-arguments": "the arguments do not fit the tool's parameters; they were kept raw",
    "arguments-not-python": "the arguments of a call should be plain Python values and are none",
    "repaired-list": "calls stood without the list around them, or in one that does not belong",
    "foreign-body": "what stands between the markers is written as another dialect writes it",
    "sibling-dialect": "a call is written as another dialect of the family writes it",
    "unlikely-key": "an argument's key is damaged or that of another tool; it was kept",
    "joined-strings": "strings of a list stand with no comma between them; they were joined",
    "joined-lines": "a YAML text without marks stands on several lines; they were joined",
    "unlikely-name": "a call in a guessed dialect has a name that no tool has; it stayed prose",
    "unread-call": "the name of a tool stands in the form of a call that is not read",
    "invalid-utf8": "bytes of a file were not text; each became U+FFFD",
}
