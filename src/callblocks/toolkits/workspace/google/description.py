"""The client object of a service, built once from the description in the client package.

The client generates documentation for each method at each use from the schemas of all its inputs
and outputs; for spreadsheets that takes longer than the request. Nobody reads it, so the schemas
are reduced to field names.
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
    """Return the object whose methods create requests; `base` replaces Google's server."""
    document = get_static_doc(name, version)
    if document is None:
        raise LookupError(f"the client has no description of {name} {version}")
    described: dict[str, Any] = msgspec.json.decode(document)
    described["schemas"] = {name: _names(schema) for name, schema in described["schemas"].items()}
    if base:
        described["rootUrl"] = base.rstrip("/") + "/"
    # Each request is sent through a transport of its own; this one only satisfies the signature.
    return build_from_document(described, http=httplib2.Http())


def _names(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its field names, by which the client recognizes paged answers."""
    fields: dict[str, Any] = schema.get("properties", {})
    return {
        "id": schema["id"],
        "type": "object",
        "properties": {f: {"type": "any"} for f in fields},
    }
