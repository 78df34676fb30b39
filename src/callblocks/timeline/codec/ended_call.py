"""An ended call, and what the results of every kind are made of: texts, files, digests."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from callblocks.core.blocks import Author, Block, Type
from callblocks.core.calls import Call
from callblocks.core.errors import TimelineError, ToolError
from callblocks.core.json_values import json_text, plain, whole
from callblocks.core.outcomes import Artifact, Failure, Notice, Outcome
from callblocks.core.paths import FilePath, Message, MessagePath, cited
from callblocks.core.redaction import without_secrets
from callblocks.timeline.artifacts.artifacts import ArtifactStore
from callblocks.timeline.artifacts.media_types import is_shown_binary, is_text, mime_of, said_mime
from callblocks.timeline.codec.call_blocks import (
    JSON,
    NOT_RUN,
    TEXT,
    Stamp,
    cut,
    error_payload,
    fits,
    fits_base64,
    notice_of_failure,
    shown,
)
from callblocks.timeline.timeline import TIMELINE_CODES, SourcesPool, Tokens, TurnFiles

__all__ = (
    "FIELDS",
    "Binary",
    "Emitted",
    "EndedCall",
    "Holdings",
    "TurnFile",
    "attachment_blocks",
    "content_block",
    "content_results",
    "digest_text",
    "failed",
    "file_blocks",
    "file_digest",
    "is_left_out",
    "is_spilled",
    "left_out",
    "message_block",
    "notes_block",
    "plain_results",
    "whole_output",
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
#
#     text                       the text, up to a limit
#     PDF, image                 base64
#     other binary, `empty`      a block with neither
#     other binary, `none`       no block
#
# The content block stands at the `fi:` path of the file. Its meta has what is never shown to a
# model: where the file is kept (`hosted_uri`, `rn`, `key`, `physical_path`) and `digest`, its
# SHA-256. Secrets are masked in the text of a block; the kept file is unchanged. Content too large
# for a block is left out, and is in the kept file.

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


# --- Resources of a timeline beside its blocks: files, artifacts, sources, and a token counter ---
#
# Methods never raise: an unreadable file counts as absent, and one that cannot be kept gives a
# notice.


class Holdings(msgspec.Struct, frozen=True, kw_only=True):
    """Access to files, artifacts, sources and token counts."""

    files: TurnFiles
    artifacts: ArtifactStore
    pool: SourcesPool
    tokens: Tokens

    def read(self, path: FilePath) -> bytes | None:
        """Return the content of a file of a turn; `None` where there is none to be read."""
        try:
            return self.files.read(path)
        except (OSError, ToolError):
            return None

    # A notice instead of an exception: recording an outcome must not fail because a disk is full.
    def keep(self, path: FilePath, content: bytes, mime: str) -> TurnFile | Notice:
        """Keep a file of a turn; return a notice if that fails."""
        try:
            artifact = self.artifacts(path.name, content, mime)
        except OSError as error:
            why = error.strerror or type(error).__name__
            words = f"{path} was written, and could not be kept: {why}"
            return Notice(code="not_kept", message=words, details={"path": str(path)})
        return self.hosted(path, content, artifact)

    def hosted(self, path: FilePath, content: bytes, artifact: Artifact) -> TurnFile:
        """Return a file that is kept already."""
        return TurnFile(
            path=path,
            content=content,
            mime=artifact.mime,
            artifact=artifact,
            hosting=self.artifacts.hosting(artifact),
        )

    def content(self, artifact: Artifact) -> bytes | Failure:
        """Return the content of an artifact, or its fault."""
        try:
            return self.artifacts.read(artifact.digest)
        except TimelineError as error:
            # The model must not learn where artifacts are kept.
            words = TIMELINE_CODES.get(error.code, "the artifact cannot be read")
            return Failure(code=error.code, message=words)


def left_out(file: TurnFile) -> list[Notice]:
    """Return the notices about a file that no block can hold."""
    if not is_left_out(file):
        return []
    words = f"{file.path} has {len(file.content)} bytes, too many to show; the file is kept"
    details = {"path": str(file.path), "size_bytes": len(file.content)}
    return [Notice(code="file_too_large", message=words, details=details)]


# --- A call that has ended, and its blocks to be written ---
#
# Every shape is a function from `Ended` to `Emitted`.


class EndedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call with its outcome. `brought` are blocks that the tool brings itself."""

    call: Call
    outcome: Outcome
    stamp: Stamp
    holdings: Holdings
    brought: tuple[Block, ...] = ()

    def param(self, name: str) -> str:
        """Return a parameter of the call that is a text; "" for any other."""
        value = self.call.input.get(name)
        return value if isinstance(value, str) else ""

    @property
    def answer(self) -> Mapping[str, Any]:
        """Return the output, where it is an object; otherwise an empty one."""
        output = self.outcome.output
        return cast("Mapping[str, Any]", output) if isinstance(output, Mapping) else {}

    # By the failure's code and its time: the runtime gives no other sign, and a call recorded by
    # another program has only these.
    @property
    def has_run(self) -> bool:
        """Return whether the tool was begun at all; a call that did not run made no file.

        A call that was stopped before its turn came took no time.
        """
        code = self.outcome.error.code if self.outcome.error else ""
        return self.outcome.seconds > 0 if code == "cancelled" else code not in NOT_RUN


class Emitted(msgspec.Struct, frozen=True, kw_only=True):
    """The notices, the results, and the records that come before them.

    `kept` are artifacts made on the way; `shown` are the digests of files in the results.
    """

    notices: tuple[Notice, ...] = ()
    results: tuple[Block, ...] = ()
    records: tuple[Block, ...] = ()
    kept: tuple[Artifact, ...] = ()
    shown: frozenset[str] = frozenset()


def failed(ended: EndedCall, failure: Failure, **fields: Any) -> Emitted:
    """Return the blocks of a call without a result: the digest says why, and so does a notice."""
    said = {
        "artifact_path": ended.stamp.path("result"),
        "tool_call_id": ended.stamp.call,
        "error": error_payload(ended.stamp, failure),
        **fields,
    }
    digest = ended.stamp.result("digest", digest_text(**said))
    return Emitted(notices=(notice_of_failure(ended.stamp, failure),), results=(digest,))


# --- An output too long for an outcome, which has its beginning; the whole is kept ---
#
# first lines … ... (2.3MB in all, kept as 4f/4f0c…/c1.json)


def is_spilled(output: object, artifact: Artifact) -> bool:
    """Return whether an output is only the beginning of this artifact, which its last line
    names.
    """
    if not isinstance(output, str) or not artifact.path:
        return False
    last = output[output.rfind("\n") + 1 :]
    return last.startswith("... (") and last.endswith(f"kept as {artifact.path})")


def whole_output(ended: EndedCall) -> Any:
    """Return the output as the tool gave it, where it can be recovered; else what is left of it."""
    output = ended.outcome.output
    for artifact in ended.outcome.artifacts:
        # Only JSON can be restored to the value that the tool returned; a text has lost nothing but
        # length.
        if artifact.mime == JSON and is_spilled(output, artifact):
            content = ended.holdings.content(artifact)
            try:
                return msgspec.json.decode(content) if isinstance(content, bytes) else output
            except (msgspec.DecodeError, RecursionError):
                return output
    return output


# --- An output as the result: its digest, then the output itself, both at `tc:…result` ---
#
# A text stays text, everything else is JSON, also null. An output beside an error is shown too.


def plain_results(ended: EndedCall) -> Emitted:
    """Return digest and content of an output."""
    output = ended.outcome.output
    if output is None and ended.outcome.error is not None:
        return failed(ended, ended.outcome.error, kind="file", visibility="internal")
    if isinstance(output, str):
        return content_results(ended, output, mime="text/plain")
    return content_results(ended, output)


def content_results(ended: EndedCall, output: Any, *, mime: str = JSON, path: str = "") -> Emitted:
    """Return an output as the result: its digest, then its text without secrets, at `path`."""
    path = path or ended.stamp.path("result")
    error = ended.outcome.error
    told: tuple[Notice, ...] = () if error is None else (notice_of_failure(ended.stamp, error),)
    text, cut_short, kept = _output_text(ended, output, mime)
    fields: dict[str, Any] = {
        "artifact_path": path,
        "mime": mime,
        "kind": "file",
        "visibility": "internal",
        "tool_call_id": ended.stamp.call,
        "error": error and error_payload(ended.stamp, error),
        "tokens": ended.holdings.tokens.text(text),
    }
    digest = ended.stamp.result("digest", digest_text(**fields))
    content = ended.stamp.result("content", text, mime=mime, path=path)
    return Emitted(notices=(*told, *cut_short), results=(digest, content), kept=kept)


def _output_text(
    ended: EndedCall, output: Any, mime: str
) -> tuple[str, tuple[Notice, ...], tuple[Artifact, ...]]:
    """Return the output as text, or the start of one that is too long; all of it is kept then."""
    # The size is judged before redaction, which is expensive on a text that is not shown whole
    # anyway.
    raw = json_text(output) if mime == JSON else str(output)
    raw = raw if raw.isascii() else whole(raw)
    if len(raw) <= TEXT:
        safe = json_text(without_secrets(plain(output))) if mime == JSON else shown(raw)
        return safe, (), ()
    content = raw.encode()
    details = {"size_bytes": len(content)}
    try:
        artifact = ended.holdings.artifacts(
            f"{ended.stamp.call}.{'json' if mime == JSON else 'txt'}", content, mime
        )
    except OSError as error:
        words = f"the whole output could not be kept: {error.strerror or type(error).__name__}"
        return shown(raw), (Notice(code="not_kept", message=words, details=details),), ()
    words = "the output is too large to show; all of it is kept as a file"
    told = Notice(code="output_too_large", message=words, details=details)
    return shown(raw), (told,), (artifact,)


# --- Messages of people and models as blocks: prompts, attachments, notes, answers ---
#
# Content too large for a block is cut there; all of it is kept as an artifact, named in the meta.

# The most bytes shown of an attached text.
_ATTACHED = 200_000

_MESSAGES: dict[Message, tuple[Type, Author]] = {
    "user.prompt": ("user.prompt", "user"),
    "assistant.completion": ("assistant.completion", "assistant"),
}


def message_block(stamp: Stamp, message: Message, text: str, holdings: Holdings) -> Block:
    """Return the person's message, or the answer; the meta lists the cited sources."""
    type, author = _MESSAGES[message]
    shown, meta = _fitting(whole(text), f"{message}.md", holdings)
    if sources := cited(text, holdings.pool.sids):
        meta["sources_used"] = sources
    path = str(MessagePath(stamp.turn, message))
    return stamp.block(type, path=path, mime="text/markdown", text=shown, meta=meta, author=author)


def notes_block(stamp: Stamp, text: str, holdings: Holdings) -> Block:
    """Return the model's text before a call."""
    text = text if text.isascii() else whole(text)
    shown, meta = _fitting(text, f"{stamp.call}.notes.md", holdings)
    return stamp.block(
        "react.notes",
        path=stamp.notes_path,
        mime="text/markdown",
        text=shown,
        meta={"channel": "timeline_text", **meta},
        author="assistant",
    )


def attachment_blocks(
    stamp: Stamp, path: FilePath, content: bytes, holdings: Holdings
) -> list[Block]:
    """Return the digest of an attachment and its content, both at its path."""
    mime = mime_of(path.name, content)
    kept = holdings.keep(path, content, mime)
    if isinstance(kept, Notice):
        # The message must not fail because a copy could not be kept; the file itself is in its
        # turn.
        kept = TurnFile(path=path, content=content, mime=mime)
    digest = stamp.block(
        "user.attachment",
        path=str(path),
        mime=JSON,
        text=file_digest(stamp, kept, holdings.tokens),
        meta={"role": "digest"},
        author="user",
    )
    shown = content_block(stamp, kept, text_limit=_ATTACHED)
    assert shown is not None, "every attachment has a block, if an empty one"
    return [digest, replace(shown, type="user.attachment", author="user")]


def _fitting(text: str, name: str, holdings: Holdings) -> tuple[str, dict[str, Any]]:
    """Return the text, or its start and the artifact that has all of it."""
    if fits(text):
        return text, {}
    try:
        artifact = holdings.artifacts(name, text.encode(), "text/markdown")
    except OSError:
        return cut(text, TEXT), {}
    hosting = holdings.artifacts.hosting(artifact)
    return cut(text, TEXT), {**hosting, "digest": artifact.digest}
