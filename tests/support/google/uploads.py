"""What a request carries: JSON, a file, or both as `multipart/related`."""

from __future__ import annotations

import json
import re
from typing import Any

from support.google.handler import Received
from support.google.state import Refused

__all__ = ("body_and_media",)


def body_and_media(received: Received, upload: bool) -> tuple[Any, bytes | None, str]:
    """The JSON body (None: there is none), the file and its type."""
    kind = received.headers.get("content-type", "")
    how = received.query.get("uploadType", [""])[0]
    if not upload:
        return _json(received.content, kind), None, ""
    if how == "media":
        return None, received.content, kind
    if how != "multipart" or not kind.startswith("multipart/related"):
        raise Refused(400, "badContent", f"no upload of uploadType={how} and {kind}")
    first, second = _parts(received.content, kind)
    return _json(first[1], first[0]), second[1], second[0]


def _json(content: bytes, kind: str) -> Any:
    if not content:
        return None
    if not kind.startswith("application/json"):
        raise Refused(400, "badContent", f"a body of {kind or 'no type'}, not JSON")
    try:
        return json.loads(content)
    except ValueError as error:
        raise Refused(400, "parseError", f"a body that is no JSON: {error}") from None


def _parts(content: bytes, kind: str) -> list[tuple[str, bytes]]:
    """Two parts with their types; a file may hold any bytes, so no mail parser reads them."""
    found = re.search(r'boundary="?([^";]+)', kind)
    if found is None:
        raise Refused(400, "badContent", "multipart without a boundary")
    pieces = (b"\n" + content).split(b"\n--" + found[1].encode())
    parts = [_part(piece) for piece in pieces[1:-1]]
    if len(parts) != 2 or not pieces[-1].startswith(b"--"):
        raise Refused(400, "badContent", f"{len(parts)} parts, not two")
    return parts


def _part(piece: bytes) -> tuple[str, bytes]:
    head, _, content = piece.removeprefix(b"\n").partition(b"\n\n")
    found = re.search(rb"(?im)^content-type:\s*(.+?)\s*$", head)
    return (found[1].decode() if found else ""), content
