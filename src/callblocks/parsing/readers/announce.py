"""The events of the calls in one block, emitted one after the other.

A call may have been started while it was read, and part of its input may have been emitted. The
rest is emitted here, so that the spans tile the text in either case. Each call owns the text since
the previous one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, cast

from callblocks.core.events import Text
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.parsing.readers.call_keys import Parts, objects_in
from callblocks.parsing.repair import mend_value
from callblocks.parsing.values.strict_json import read_json
from callblocks.parsing.values.tolerant_json import Tolerant

__all__ = (
    "BadBody",
    "Telling",
    "as_input",
    "raw_input",
    "read_input",
)

# --- Conversion of a call's arguments, in any written form, to its input, an object ---


def read_input(
    text: str, *, ended: bool, strict: bool, depth: int
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the input that is the whole text and the codes of repairs, or raise `ValueError`.

    `ended`: a marker closed the text, so it was not cut off.
    """
    repairs: tuple[str, ...] = ()
    try:
        value = read_json(text, depth)
    except ValueError as error:
        mended = None if strict else _mended(text, ended, depth)
        if mended is None:
            raise ValueError(str(error)) from None
        value, repairs = mended
    value, inner = as_input(value, strict=strict, as_text=False, depth=depth)
    return value, (*inner, *repairs)


def _mended(text: str, ended: bool, depth: int) -> tuple[Any, tuple[str, ...]] | None:
    """Return the repaired value of a text, behind which surplus brackets may stand; else None."""
    try:
        found = mend_value(text, ended=ended, depth=depth)
    except ValueError:
        return None
    rest = "".join(text[found.after :].split())
    if rest.strip("}]"):
        return None
    stray = ("repaired-braces",) if rest and "repaired-braces" not in found.repairs else ()
    return found.value, (*found.repairs, *stray)


def raw_input(tool: ToolSpec | None, text: str, usual: str = "code") -> dict[str, Any]:
    """Return the input of a tool that takes raw text: its only parameter, or the usual one."""
    names = list(tool.properties) if tool else []
    return {names[0] if len(names) == 1 else usual: text}


def as_input(
    value: Any, *, strict: bool, as_text: bool, depth: int
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the input and the codes of repairs, or raise `ValueError` with the reason.

    None, null and the empty string are an empty input. `as_text`: the grammar writes arguments as a
    string that holds JSON; without it such a string is a mistake that is repaired.
    """
    if isinstance(value, dict):
        return cast("dict[str, Any]", value), ()
    if value is None or value == "":
        return {}, ()
    if isinstance(value, str) and (as_text or not strict):
        inner, repairs = _inner(value, strict, depth)
        if isinstance(inner, dict):
            found = repairs if as_text else ("repaired-input", *repairs)
            return cast("dict[str, Any]", inner), found
    raise ValueError("the arguments are not an object")


def _inner(text: str, strict: bool, depth: int) -> tuple[Any, tuple[str, ...]]:
    """Return the value of the JSON in a string and its repairs; None if it is no JSON."""
    try:
        return read_json(text, depth), ()
    except ValueError:
        if strict:
            return None, ()
    tolerant = Tolerant(text, ended=True, max_depth=depth)
    try:
        value, end = tolerant.read(tolerant.solid(0))
    except ValueError:
        return None, ()
    whole = tolerant.solid(end) == len(text)
    return (value, tuple(tolerant.repairs)) if whole else (None, ())


# --- The events of the calls in one block, emitted one after the other ---


# The keys of arguments in other dialects.
_ARGUMENTS = ("input", "args", "params", "kwargs", "tool_input", "action_input")
# Members beside a name that are about the call.
_NO_ARGUMENTS = ("id", "type", "index", "call_id", "tool_call_id")


class Telling:
    """The emitter of one block's calls.

    `any`: something was emitted. `details` has a better text than the general one for repairs of
    the next call. Codes begin with the dialect's name unless they are `general`.
    """

    any = False

    def __init__(
        self,
        block: Block,
        *,
        as_text: bool = False,
        id_later: bool = False,
        general: bool = False,
    ) -> None:
        self.block = block
        self.details: dict[str, str] = {}
        self._as_text = as_text
        self._id_later = id_later
        self._general = general
        self._since = block.start

    def call(
        self, parts: Parts, repairs: Iterable[str], *, started: bool, ended: bool, end: int
    ) -> None:
        """Emit a call that ends at `end`, or `Malformed` if its input cannot be used."""
        strict, depth = self.block.stage.strict, self.block.stage.limits.depth
        found = dict.fromkeys(repairs) if repairs else {}
        beside = None if parts.place or not parts.extra else self._beside(parts)
        if beside and strict:
            return self.bad("call", "its arguments stand beside its name", end=end)
        parts = beside or parts
        try:
            value, inner = as_input(parts.input, strict=strict, as_text=self._as_text, depth=depth)
        except ValueError as error:
            return self.bad("call", str(error), end=end)
        if strict and found:
            return self.bad("json", "it is not closed as it should be", end=end)
        text, place = partial(self.text, end), (self._since, end)
        size = self._input(parts, started=started)
        if beside:
            found["repaired-arguments"], size = None, end - self._since
        extra = parts.extra
        self.block.ready(
            value, size=size, id_=parts.id, extra=extra, ended=ended, end=end, text=text
        )
        for code in found | dict.fromkeys(inner) if found or inner else ():
            self.block.problem(code, self.details.get(code, GENERAL_CODES[code]), place)
        unbound = objects_in(extra) if extra and not value else []
        if extra and parts.place is None and not (value or unbound or beside):
            # Without any arguments whatever stands beside the name may be one.
            unbound = [key for key in extra if key not in _NO_ARGUMENTS]
        if unbound:
            self.block.problem(
                "unbound-arguments", f"{unbound[0]!r:.60} is no key of a call", place
            )
        return self._done(end)

    def _beside(self, parts: Parts) -> Parts | None:
        """Return a call without arguments with those that stand beside its name, if there are any.

        `{"name": "ls", "path": "."}`: members that are parameters of the tool are its arguments;
        so is one object with nothing but parameters under an unknown key. Of a tool that is not
        declared, an object under the usual key of another dialect is its arguments.
        """
        tool = self.block.stage.tools.get(self.block.known_name(parts.name))
        known = tool.properties if tool else {}
        own = {key: one for key, one in parts.extra.items() if key in known}
        rest = {key: one for key, one in parts.extra.items() if key not in known}
        if not own:
            keys = [key for key, one in rest.items() if one and _has_only(one, known)]
            if tool is None:
                keys = [key for key in _ARGUMENTS if isinstance(rest.get(key), dict)]
            own = rest.pop(keys[0]) if len(keys) == 1 else own
        return parts._replace(input=own, extra=rest) if own else None

    def bad(self, code: str, detail: str, *, end: int) -> None:
        """Emit the text up to `end` as malformed; a call that was started ends here."""
        own = "arguments-not-json" if self._general else f"{self.block.dialect}.{code}"
        name = code if code.startswith("too-") else own
        self.block.malformed(name, detail, end=end, text=self.text(end))
        self._done(end)

    def nothing(self, end: int) -> None:
        """Emit the text up to `end` as markup without content."""
        self.block.stage.solid = True
        self.block.stage.say(Text("", self.block.stage.span(end)))
        self._done(end)

    def text(self, end: int) -> str:
        """Return the text since the last call."""
        return self.slice(self._since, end)

    def slice(self, start: int, end: int) -> str:
        """Return a stretch of the consumed text; it lies near the end, so the search is short."""
        first, at = self.block.part_at(start)
        return "".join(self.block.taken[first:])[start - at : end - at]

    def _input(self, parts: Parts, *, started: bool) -> int:
        block, stage = self.block, self.block.stage
        opened = max(stage.said, block.start + len(block.opening))
        start, end = parts.place or (opened, opened)
        if not started:
            block.started(parts.name, parts.id, id_later=self._id_later, end=start)
        elif parts.place and stage.said < start:
            block.input("", end=start)
        if stage.said < end:
            block.input(self.slice(stage.said, end), end=end)
        return end - start

    def _done(self, end: int) -> None:
        self.any = True
        self._since = end
        if self.details:
            self.details.clear()


def _has_only(value: Any, known: Mapping[str, Any]) -> bool:
    """Return whether a value is an object without other keys than the known ones."""
    return isinstance(value, dict) and all(key in known for key in cast("dict[str, Any]", value))


# --- The error for arguments that cannot be read, so that a block is no call ---


class BadBody(Exception):
    """An error in the arguments of a call: a stable code, and the reason."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail
