"""The digest of a result: what it is and where, with nothing in it that is not for the model.

    {"artifact_path":"fi:turn_1.files/a.md","mime":"text/markdown","kind":"file","tokens":12}

The fields stand in one order; what is empty is not written, and 0 is not empty.
"""

from __future__ import annotations

from typing import Any

from callblocks.timeline.plain_json import json_text

__all__ = ("FIELDS", "digest_text")

FIELDS = (
    "artifact_path",
    "physical_path",
    "mime",
    "kind",
    "visibility",
    "channel",
    "tool_call_id",
    "edited",
    "size_bytes",
    "description",
    "write_warning",
    "sources_used",
    "error",
    "tokens",
    "sha256",
)
"""Every field of a digest, in its order."""


def digest_text(**fields: Any) -> str:
    """The digest as JSON; fields that are not in `FIELDS` come last, as given."""
    names = (*FIELDS, *(name for name in fields if name not in FIELDS))
    return json_text({name: fields[name] for name in names if not _is_empty(fields.get(name))})


def _is_empty(value: object) -> bool:
    return value is None or value is False or value in ("", [], (), {})
