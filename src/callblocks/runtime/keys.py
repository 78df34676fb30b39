"""The idempotency key of a call: equal for the same call of the same turn, and for no other."""

from __future__ import annotations

import hashlib
import json

from callblocks.model.calls import Call

__all__ = ("idempotency_key",)


def idempotency_key(turn: str, call: Call) -> str:
    """Return 32 hexadecimal digits derived from the turn, the call's id, its tool and its input."""
    # A list, not a joined string: no choice of ids can move text from one field into the next.
    said = json.dumps([turn, call.id, call.name, call.input], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:32]
