"""What an approval is bound to: one exact call, under one policy, in one place.

    fingerprint(tool, {"path": "a"}, policy.digest)     this call and no other
    grant_key(tool, policy.digest, tainted=False)       any input of this tool

Equal values give equal fingerprints whatever the order of their keys; 1, 1.0, "1" and true all
differ. The tool counts with all a model sees of it and with its traits: a tool that changed is
another one. Each part is written with its type and length, so that no two can be confused.
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
    """The name of this exact call: 64 hex digits. `place` is the workspace it runs in."""
    return _digest(["call", policy_digest, place, _definition(tool), input])


def grant_key(tool: Tool, policy_digest: str, tainted: bool, *, place: str = "") -> str:
    """The name of all calls of a tool. A grant of an untainted turn is none in a tainted one."""
    return _digest(["grant", policy_digest, place, _definition(tool), tainted])


def _definition(tool: Tool) -> list[Any]:
    spec = tool.spec
    traits = msgspec.structs.asdict(tool.traits)
    # How an outcome is recorded is no part of what is approved.
    del traits["result"]
    return [spec.name, spec.description, spec.parameters, spec.body, traits, tool.origin]


def _digest(value: object) -> str:
    digest = hashlib.sha256(b"callblocks approval 1\n")
    try:
        for part in _parts(value):
            digest.update(part)
    except RecursionError as error:
        raise BadApproval("an input nested this deep cannot be approved") from error
    return digest.hexdigest()


def _parts(value: object) -> Iterator[bytes]:
    """The value in bytes: a letter for the type, and the length wherever there is one."""
    match value:
        case None | bool():
            yield b"n" if value is None else b"t" if value else b"f"
        case int():
            yield _framed(b"i", b"%x" % value)
        case float():
            # There are many NaN, which all look alike: they count as one.
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
    names = [name for name in fields if isinstance(name, str)]
    if len(names) != len(fields):
        raise BadApproval(f"{brief(fields)} has a key that is no text: it cannot be approved")
    yield b"o%d:" % len(names)
    for name in sorted(names):
        yield _framed(b"s", name.encode("utf-8", "surrogatepass"))
        yield from _parts(fields[name])


def _framed(letter: bytes, text: bytes) -> bytes:
    return b"%s%d:%s" % (letter, len(text), text)
