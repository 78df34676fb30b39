"""Calls in the API's own form, as servers really stream them, sorted into one slot a call.

By the published API a call opens with `index`, `id` and `name`, and goes on by its `index` alone.
Servers depart from that in these ways, and each is read:

    no `index`                   a new id or name opens a call; other deltas belong to the last one
    `index` 0 for every call     another id, or a name after complete arguments, opens a new one
    one id for two calls         a name after complete arguments opens a new one
    id and name in every delta   they are the same, and the arguments are not complete: it goes on
    `arguments` as an object     it is written as JSON text

A slot never joins two calls: glued arguments would be the input of neither.
"""

from __future__ import annotations

from typing import Any

import msgspec

from callblocks.models.model import NativeDelta
from callblocks.models.wire import Function, NativeCall
from callblocks.parsing.json_scan import JsonScan

__all__ = ("CallSlots",)


class _Slot:
    """What is known of one call: its index and id on the wire, and whether its input is whole."""

    def __init__(self, number: int, index: int | None) -> None:
        self.number = number
        self.index = index
        self.id = ""
        self.name = ""
        self._scan = JsonScan()

    @property
    def is_complete(self) -> bool:
        """Whether the arguments are one JSON object: nothing can go on with it."""
        return self._scan.complete

    def take(self, id: str, name: str, text: str) -> NativeDelta:
        """Return the delta of this call without an id and a name that were given before."""
        delta = NativeDelta(self.number, "" if self.id else id, "" if self.name else name, text)
        self.id, self.name = self.id or id, self.name or name
        self._scan.feed(text)
        return delta


class CallSlots:
    """Sorts the deltas of one reply."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []

    def take(self, call: NativeCall) -> NativeDelta:
        """Return the delta with the number of the slot that it belongs to."""
        function = call.function or Function()
        id = "" if call.id is None else str(call.id)
        name, text = function.name or "", _json_text(function.arguments)
        slot = self._find(call.index, id, name, text)
        if slot is None:
            slot = _Slot(len(self._slots), call.index)
            self._slots.append(slot)
        return slot.take(id, name, text)

    def _find(self, index: int | None, id: str, name: str, text: str) -> _Slot | None:
        """Return the open slot that a delta goes on with."""
        near = [one for one in self._slots if index is None or one.index == index]
        own = [one for one in near if id and one.id == id] or near
        if not own:
            return None
        last = own[-1]
        is_other_id = bool(id and last.id and id != last.id)
        is_other_name = bool(name and last.name and name != last.name)
        is_second = bool(name and last.is_complete and text.strip())
        return None if is_other_id or is_other_name or is_second else last


def _json_text(arguments: Any) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
