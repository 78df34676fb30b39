"""The digest of a result: its kind and place, with nothing that is not for the model.

    {"artifact_path":"fi:turn_1.files/a.md","mime":"text/markdown","kind":"file","tokens":12}

The fields have a fixed order; empty ones are not written, and 0 is not empty.
"""

from __future__ import annotations

from typing import Any

from callblocks.timeline.plain_json import json_text

__all__ = ("FIELDS", "digest_text")

# Every field of a digest, in its order.
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


def digest_text(**fields: Any) -> str:
    """Return the digest as JSON; fields that are not in `FIELDS` come last, as given."""
    names = (*FIELDS, *(name for name in fields if name not in FIELDS))
    return json_text({name: fields[name] for name in names if not _is_empty(fields.get(name))})


# 0 is a fact (a size, a count) and stays; False, "" and empty lists say nothing.
def _is_empty(value: object) -> bool:
    return value is None or value is False or value in ("", [], (), {})
