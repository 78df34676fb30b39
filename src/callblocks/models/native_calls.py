"""Calls in the API's own form, as servers really stream them, sorted into one slot per call.

By the published API a call opens with `index`, `id` and `name`, and continues by its `index` alone.
Servers deviate in these ways, and each is accepted:

    no `index`                   a new id or name opens a call; other deltas belong to the last one
    `index` 0 for every call     another id, or a name after complete arguments, opens a new one
    one id for two calls         a name after complete arguments opens a new one
    id and name in every delta   they are the same, and the arguments are not complete: it goes on
    `arguments` as an object     it is written as JSON text

Invariant: a slot never joins two calls, because joined arguments would be the input of neither.
"Complete arguments" is the key test: once the text of a slot is one JSON object, no further text
can belong to it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from callblocks.models.model import NativeDelta
from callblocks.models.wire import Function, NativeCall
from callblocks.parsing.json_scan import JsonScan

__all__ = ("CallSlots",)


class _Slot:
    """The state of one call: its id on the wire, and whether its input is complete.

    `repeated` is a name that came after the input was complete: the name of the next call, or the
    same one repeated. Only further input decides which.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.id = ""
        self.name = ""
        self.repeated = ""
        self._scan = JsonScan()

    @property
    def is_complete(self) -> bool:
        """Return whether the arguments are one JSON object: no text can continue it."""
        return self._scan.complete

    def take(self, id: str, name: str, text: str) -> NativeDelta:
        """Return the delta of this call without an id and a name that were given before."""
        delta = NativeDelta(self.number, "" if self.id else id, "" if self.name else name, text)
        self.id, self.name = self.id or id, self.name or name
        self._scan.feed(text)
        return delta


class CallSlots:
    """The sorter of the deltas of one reply.

    A delta continues the newest slot of its id, else the newest of its index, else the newest of
    all, unless that slot shows that it is another call.
    """

    def __init__(self) -> None:
        self._count = 0
        self._newest: dict[tuple[str | None, str], _Slot] = {}

    def take(self, call: NativeCall) -> NativeDelta:
        """Return the delta with the number of the slot that it belongs to."""
        function = call.function or Function()
        id = "" if call.id is None else str(call.id)
        name, text = function.name or "", _json_text(function.arguments)
        index = None if call.index is None else str(call.index)
        # `index` may be None, which is a key of its own: then the id alone, or the newest call,
        # decides.
        slot = self._newest.get((index, id)) or self._newest.get((index, ""))
        if slot is None or _is_other(slot, id, name, text):
            name = name or (slot.repeated if slot and slot.is_complete else "")
            slot = _Slot(self._count)
            self._count += 1
        # A name without further input after complete arguments: remembered, because only the next
        # delta tells whether it opens another call.
        elif slot.is_complete:
            slot.repeated = name
        # Registered four ways, under index and id, so that a later delta may omit either of them.
        for key in (index, None):
            self._newest[key, id] = self._newest[key, ""] = slot
        return slot.take(id, name, text)


def _is_other(slot: _Slot, id: str, name: str, text: str) -> bool:
    """Return whether a delta opens a call of its own instead of continuing that of a slot."""
    if (id and slot.id and id != slot.id) or (name and slot.name and name != slot.name):
        return True
    return bool(slot.is_complete and text.strip() and (name or slot.repeated))


def _json_text(arguments: Any) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
