"""Fingerprints: the value that binds an approval to one exact call, one policy and one place.

    fingerprint(tool, {"path": "a"}, policy.digest)     this call and no other
    grant_key(tool, policy.digest, tainted=False)       any input of this tool

A person approves what is shown. An attacker who could build another call with the same fingerprint
would run it on that approval, so the encoding must be injective:

- Each part is written with its type and length. `["ab", "c"]` and `["a", "bc"]` differ, and no
  string can imitate the bytes of a list, an object or the next field.
- 1, 1.0, "1" and true all differ. The order of an object's keys does not count.
- The tool counts with everything that a model sees of it and with its traits, so a tool that was
  changed after the approval is another tool.
- The policy's digest counts, so an approval does not survive an edit of the policy.

Why not hash `json.dumps`: it writes lone surrogates, NaN and big integers in ways that differ
between versions, and it gives no separation between the fields around it.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from callblocks.model.brief import brief
from callblocks.runtime.approvals.faults import BadApproval
from callblocks.tools.tool import Tool

__all__ = ("fingerprint", "grant_key")


def fingerprint(tool: Tool, input: dict[str, Any], policy_digest: str, *, place: str = "") -> str:
    """Return the fingerprint of this exact call: 64 hex digits. `place` is the workspace it runs
    in.
    """
    return _digest(["call", policy_digest, place, _definition(tool), input])


def grant_key(tool: Tool, policy_digest: str, tainted: bool, *, place: str = "") -> str:
    """Return the key shared by all calls of a tool; tainted and untainted turns have different
    keys.
    """
    return _digest(["grant", policy_digest, place, _definition(tool), tainted])


def _definition(tool: Tool) -> list[Any]:
    spec = tool.spec
    traits = msgspec.structs.asdict(tool.traits)
    # The result kind only decides how an outcome is recorded, not what the tool does.
    del traits["result"]
    return [spec.name, spec.description, spec.parameters, spec.body, traits, tool.origin]


def _digest(value: object) -> str:
    # Domain separation: the version in this line changes whenever the encoding changes, so that
    # stored fingerprints of an older encoding never match.
    digest = hashlib.sha256(b"callblocks approval 1\n")
    try:
        for part in _parts(value):
            digest.update(part)
    # A person cannot judge such an input, and a partly hashed value must not be returned.
    except RecursionError as error:
        raise BadApproval("an input nested this deep cannot be approved") from error
    return digest.hexdigest()


def _parts(value: object) -> Iterator[bytes]:
    """Yield the bytes of a value: a letter for the type, and the length wherever there is one."""
    match value:
        # `bool` is a subclass of `int`: its case must stand before the case of `int`.
        case None | bool():
            yield b"n" if value is None else b"t" if value else b"f"
        case int():
            yield _framed(b"i", b"%x" % value)
        case float():
            # NaN has many bit patterns that look alike when shown, so they count as one value.
            yield b"d" + struct.pack(">d", math.nan if math.isnan(value) else value)
        case str():
            yield _framed(b"s", value.encode("utf-8", "surrogatepass"))
        case list() | tuple():
            items = cast("list[object]", value)
            yield b"l%d:" % len(items)
            for item in items:
                yield from _parts(item)
        case dict():
            yield from _object_parts(cast("dict[object, object]", value))
        case _:
            raise BadApproval(f"{brief(value)} is no JSON value: it cannot be approved")


def _object_parts(fields: dict[object, object]) -> Iterator[bytes]:
    # A key such as 1 would be shown like the key "1", so only strings are accepted as keys.
    names = [name for name in fields if isinstance(name, str)]
    if len(names) != len(fields):
        raise BadApproval(f"{brief(fields)} has a key that is no text: it cannot be approved")
    yield b"o%d:" % len(names)
    for name in sorted(names):
        yield _framed(b"s", name.encode("utf-8", "surrogatepass"))
        yield from _parts(fields[name])


def _framed(letter: bytes, text: bytes) -> bytes:
    return b"%s%d:%s" % (letter, len(text), text)
