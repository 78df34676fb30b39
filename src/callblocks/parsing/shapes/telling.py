"""The events of the calls in one block, emitted one after the other.

A call may have been started while it was read, and part of its input may have been emitted. The
rest is emitted here, so that the spans tile the text in either case. Each call owns the text since
the previous one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, cast

from callblocks.model.events import Text
from callblocks.parsing.block import Block
from callblocks.parsing.codes import GENERAL_CODES
from callblocks.parsing.shapes.inputs import as_input
from callblocks.parsing.shapes.keys import Parts, objects_in

__all__ = ("Telling",)


class Telling:
    """The emitter of one block's calls.

    `any`: something was emitted. `details` has a better text than the general one for repairs of
    the next call. Codes begin with the dialect's name unless they are `general`.
    """

    def __init__(
        self,
        block: Block,
        *,
        as_text: bool = False,
        id_later: bool = False,
        general: bool = False,
    ) -> None:
        self.block = block
        self.any = False
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
        found = dict.fromkeys(repairs)
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
        for code in found | dict.fromkeys(inner):
            self.block.problem(code, self.details.get(code, GENERAL_CODES[code]), place)
        if not value and (unbound := objects_in(extra)):
            self.block.problem(
                "unbound-arguments", f"{unbound[0]!r:.60} is no key of a call", place
            )
        return self._done(end)

    def _beside(self, parts: Parts) -> Parts | None:
        """Return a call without arguments with those that stand beside its name, if there are any.

        `{"name": "ls", "path": "."}`: members that are parameters of the tool are its arguments;
        so is one object with nothing but parameters under an unknown key.
        """
        tool = self.block.stage.tools.get(self.block.known_name(parts.name))
        known = tool.properties if tool else {}
        own = {key: one for key, one in parts.extra.items() if key in known}
        rest = {key: one for key, one in parts.extra.items() if key not in known}
        if not own:
            keys = [key for key, one in rest.items() if one and _has_only(one, known)]
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
        self.details.clear()
        self._since = end


def _has_only(value: Any, known: Mapping[str, Any]) -> bool:
    """Return whether a value is an object without other keys than the known ones."""
    return isinstance(value, dict) and all(key in known for key in cast("dict[str, Any]", value))
