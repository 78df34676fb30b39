"""The client's object for a service, made once, from the description that comes with it.

The client writes a page of documentation for each method at each use, out of the shapes of all
that the method takes and gives; for spreadsheets that takes longer than the request. Nobody
reads it, so the shapes are cut down to the names of their fields.
"""

# The client library has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from functools import cache
from typing import Any

import httplib2
import msgspec
from googleapiclient.discovery import build_from_document
from googleapiclient.discovery_cache import get_static_doc

__all__ = ("api_of",)


@cache
def api_of(name: str, version: str, base: str = "") -> Any:
    """The object whose methods make requests, to `base` instead of Google's own server."""
    document = get_static_doc(name, version)
    if document is None:
        raise LookupError(f"the client has no description of {name} {version}")
    described: dict[str, Any] = msgspec.json.decode(document)
    described["schemas"] = {name: _names(schema) for name, schema in described["schemas"].items()}
    if base:
        described["rootUrl"] = base.rstrip("/") + "/"
    # Each request is sent through a transport of its own; this one stands where one must.
    return build_from_document(described, http=httplib2.Http())


def _names(schema: dict[str, Any]) -> dict[str, Any]:
    """A shape with the names of its fields: by them the client knows which answers are pages."""
    fields: dict[str, Any] = schema.get("properties", {})
    return {
        "id": schema["id"],
        "type": "object",
        "properties": {f: {"type": "any"} for f in fields},
    }
