"""Events and other records as JSON, one per line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from callblocks.model.events import Event

__all__ = ("json_lines",)

_encoder = msgspec.json.Encoder()


def json_lines(events: Sequence[Event | Mapping[str, object]], file: str | None = None) -> bytes:
    """One line for each event or record; with `file`, each says first which file it is about."""
    head = b"{" if file is None else b'{"file":' + _encoder.encode(_sayable(file)) + b","
    return b"".join(b"%b%b\n" % (head, _encode(event)[1:]) for event in events)


def _encode(event: Event | Mapping[str, object]) -> bytes:
    try:
        return _encoder.encode(event)
    except UnicodeEncodeError:
        # Half a character (`"\ud800"` in a call's JSON) can only be written as an escape.
        return json.dumps(msgspec.to_builtins(event), separators=(",", ":")).encode()


def _sayable(name: str) -> str:
    """A file's name may hold bytes that are not text."""
    return name.encode("utf-8", "replace").decode()
