"""A file on the timeline: its digest, then its content.

    text                       the text, up to a limit
    PDF, image                 base64
    other binary, `empty`      a block with neither
    other binary, `none`       no block

The content block stands at the `fi:` path of the file. Its meta has what is never shown to a model:
where the file is kept (`hosted_uri`, `rn`, `key`, `physical_path`) and `digest`, its SHA-256.
Secrets are masked in the text of a block; the kept file is unchanged. Content too large for a block
is left out, and is in the kept file.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.core.blocks import Block
from callblocks.core.json_values import json_text
from callblocks.core.outcomes import Artifact
from callblocks.core.paths import FilePath
from callblocks.timeline.artifacts.mime import is_shown_binary, is_text, said_mime
from callblocks.timeline.codec.call_stamp import TEXT, Stamp, fits_base64, shown
from callblocks.timeline.timeline import Tokens

__all__ = (
    "FIELDS",
    "Binary",
    "TurnFile",
    "content_block",
    "digest_text",
    "file_blocks",
    "file_digest",
    "is_left_out",
)

# --- The digest of a result: its kind and place, with nothing that is not for the model ---
#
#     {"artifact_path":"fi:turn_1.files/a.md","mime":"text/markdown","kind":"file","tokens":12}
#
# The fields have a fixed order; empty ones are not written, and 0 is not empty.

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


# --- A file on the timeline: its digest, then its content ---

# The treatment of a file that is neither text, nor PDF, nor an image.
Binary: TypeAlias = Literal["none", "empty"]


class TurnFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a turn: its content, its type, and where it is kept.

    An invalid `mime`, or one that the content disproves, is not accepted.
    """

    path: FilePath
    content: bytes
    mime: str
    artifact: Artifact | None = None
    hosting: dict[str, Any] = {}

    def __post_init__(self) -> None:
        mime = said_mime(self.mime, self.path.name, self.content)
        msgspec.structs.force_setattr(self, "mime", mime)

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the content, in hex."""
        return self.artifact.digest if self.artifact else sha256(self.content).hexdigest()

    @property
    def text(self) -> str | None:
        """Return the content of a text file."""
        if not is_text(self.mime, self.content):
            return None
        return self.content.decode(errors="replace")


def file_blocks(
    stamp: Stamp,
    file: TurnFile,
    *,
    tokens: Tokens,
    fields: Mapping[str, Any] | None = None,
    binary: Binary = "empty",
    text_limit: int | None = None,
) -> list[Block]:
    """Return the digest of a file, and its content; `fields` are further fields of the digest.

    A text of more than `text_limit` bytes is cut there.
    """
    digest = stamp.result("digest", file_digest(stamp, file, tokens, fields))
    content = content_block(stamp, file, binary=binary, text_limit=text_limit)
    return [digest] if content is None else [digest, content]


def file_digest(
    stamp: Stamp, file: TurnFile, tokens: Tokens, fields: Mapping[str, Any] | None = None
) -> str:
    """Return the digest of a file, with further fields."""
    text = file.text
    size = len(file.content)
    # The cost of the whole file, not of the part that is shown: the model decides by it whether to
    # read the file again.
    cost = tokens.binary(size, file.mime) or None if text is None else tokens.text(text)
    about = {
        "artifact_path": str(file.path),
        "physical_path": file.path.physical,
        "mime": file.mime,
        "kind": "file",
        "visibility": "external",
        "tool_call_id": stamp.call,
        "size_bytes": size,
        "tokens": cost,
        "sha256": file.digest,
    }
    return digest_text(**{**about, **(fields or {})})


def content_block(
    stamp: Stamp, file: TurnFile, *, binary: Binary = "empty", text_limit: int | None = None
) -> Block | None:
    """Return the content of a file as a block; `None` where its kind has none."""
    text = file.text
    is_shown = text is not None or is_shown_binary(file.mime)
    if not is_shown and binary == "none":
        return None
    base64 = None
    if text is not None:
        text = _shown_text(text, file, text_limit)
    # A file that is too large keeps its block, without content, so that its path stays known.
    elif is_shown and not is_left_out(file):
        base64 = b64encode(file.content).decode()
    return stamp.block(
        "react.tool.result",
        path=str(file.path),
        mime=file.mime,
        text=text,
        base64=base64,
        meta=_hosting(file),
    )


def is_left_out(file: TurnFile) -> bool:
    """Return whether a PDF or an image is too large for a block."""
    return is_shown_binary(file.mime) and not fits_base64(len(file.content))


def _hosting(file: TurnFile) -> dict[str, Any]:
    return {
        "role": "content",
        **file.hosting,
        "physical_path": file.path.physical,
        "digest": file.digest,
    }


def _shown_text(text: str, file: TurnFile, limit: int | None) -> str:
    """Return the text without secrets; one that must be cut says where all of it is."""
    if limit is not None:
        return shown(text, limit)
    safe = shown(text)
    return f"{safe} [see {file.path}]" if len(file.content) > TEXT else safe
