"""A file that a tool wrote (`react.write`, `rendering_tools.write_*`): digest, then content.

The path comes from the checked call, never from the tool's output, which could name any file. The
file is checked at that place: one that is missing, empty, or not what its name says is an error of
the result, and then there is no content and nothing is kept.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from callblocks.core.errors import BadPath
from callblocks.core.outcomes import Failure, Notice
from callblocks.core.paths import FilePath, WrittenPath, written_path
from callblocks.core.selector import cited
from callblocks.timeline.artifacts.validate import Written, check_written
from callblocks.timeline.codec.call_stamp import Stamp
from callblocks.timeline.codec.ended_call import Emitted, EndedCall, failed, left_out
from callblocks.timeline.codec.file_blocks import Binary, TurnFile, file_blocks

__all__ = (
    "PATH_REWRITTEN",
    "file_fault",
    "rendering_results",
    "rewritten",
    "target_of",
    "write_results",
)

PATH_REWRITTEN = "protocol_violation.path_rewritten"
HOSTING_FAILED = "react.write.hosting_failed"

_CHANNELS = ("canvas", "timeline_text", "internal")


class _Manner(msgspec.Struct, frozen=True):
    """The display of a kind of tool's file; `not_kept` is the code where it cannot be kept."""

    fields: dict[str, Any]
    binary: Binary
    not_kept: str


def write_results(ended: EndedCall) -> Emitted:
    """Return the result of `react.write`."""
    channel = ended.param("channel")
    channel = channel if channel in _CHANNELS else "canvas"
    fields = {
        "kind": "file" if ended.param("kind") == "file" else "display",
        "visibility": "internal" if channel == "internal" else "external",
        "channel": channel,
        "edited": ended.answer.get("edited") is True,
    }
    return _results(ended, _Manner(fields, "empty", HOSTING_FAILED))


def rendering_results(ended: EndedCall) -> Emitted:
    """Return the result of a rendering tool: only PDF and images have a content."""
    return _results(ended, _Manner({"kind": "file", "visibility": "external"}, "none", "not_kept"))


def target_of(text: str, stamp: Stamp) -> WrittenPath | Failure:
    """Return the place of a file that a call names; or why there is none."""
    try:
        return written_path(text, stamp.turn, stamp.turns)
    except BadPath as error:
        return Failure(code=error.code, message=str(error))


def file_fault(path: FilePath, written: Written) -> Failure:
    """Return the fault of a written file, with its path."""
    assert written.error is not None
    return Failure(
        code=written.error.code,
        message=written.error.message,
        where=written.error.where or str(path),
        details=written.error.details,
    )


def _results(ended: EndedCall, manner: _Manner) -> Emitted:
    target = target_of(ended.param("path"), ended.stamp)
    if isinstance(target, Failure):
        return failed(ended, ended.outcome.error or target, **manner.fields)
    emitted = _file(ended, target.path, manner)
    told = (*rewritten(ended, ended.param("path"), target), *emitted.notices)
    return msgspec.structs.replace(emitted, notices=told)


def _file(ended: EndedCall, path: FilePath, manner: _Manner) -> Emitted:
    """Return the file, or its fault."""
    if not ended.has_run and ended.outcome.error is not None:
        # A file that is there was not written by this call.
        return failed(ended, ended.outcome.error, **manner.fields)
    fields = {**manner.fields, "artifact_path": str(path), "physical_path": path.physical}
    if ended.outcome.error is not None:
        return failed(ended, ended.outcome.error, **fields)
    content = ended.holdings.read(path)
    written = check_written(path.name, content)
    if content is None:
        emitted = failed(ended, file_fault(path, written), **fields)
        told = (*_missing(path, manner), *emitted.notices)
        return msgspec.structs.replace(emitted, notices=told)
    if written.error is not None:
        fields |= {"mime": written.mime, "size_bytes": written.size}
        return failed(ended, file_fault(path, written), **fields)
    return _shown(ended, path, content, written, manner)


def _shown(
    ended: EndedCall, path: FilePath, content: bytes, written: Written, manner: _Manner
) -> Emitted:
    """Return a valid file: kept, with its digest and its content."""
    told: tuple[Notice, ...] = ()
    file = ended.holdings.keep(path, content, written.mime)
    if isinstance(file, Notice):
        # The file exists and is shown, although no copy of it could be kept.
        told = (msgspec.structs.replace(file, code=manner.not_kept),)
        file = TurnFile(path=path, content=content, mime=written.mime)
    fields = {
        **manner.fields,
        "write_warning": written.warning,
        "sources_used": _cited(ended, file),
    }
    blocks = file_blocks(
        ended.stamp, file, tokens=ended.holdings.tokens, fields=fields, binary=manner.binary
    )
    return Emitted(
        notices=(*told, *left_out(file)), results=tuple(blocks), shown=frozenset((file.digest,))
    )


def rewritten(ended: EndedCall, original: str, target: WrittenPath) -> tuple[Notice, ...]:
    """Return the notice of a rewritten path; a tool may have given it itself."""
    told = (n.details.get("original") for n in ended.outcome.notices if n.code == PATH_REWRITTEN)
    if not target.rewritten or original in told:
        return ()
    normalized = target.path.physical
    words = f"files of this turn are written to {normalized}; give that path, or a bare name"
    details = {"original": original, "normalized": normalized}
    return (Notice(code=PATH_REWRITTEN, message=words, details=details),)


def _missing(path: FilePath, manner: _Manner) -> tuple[Notice, ...]:
    """Return the notice that a missing file cannot be hosted, which `react.write` gives as well."""
    if manner.not_kept != HOSTING_FAILED:
        return ()
    words = f"{path} is not there, so it could not be kept"
    return (Notice(code=HOSTING_FAILED, message=words, details={"path": str(path)}),)


def _cited(ended: EndedCall, file: TurnFile) -> list[int]:
    """Return the sources that the file cites; for a binary, those of the text it was made from.

    That may be another file, which only the tool has read.
    """
    known = ended.holdings.pool.sids
    text = file.text if file.text is not None else ended.param("content")
    told = ended.answer.get("sources_used") if file.text is None else None
    said = cast("list[object]", told) if isinstance(told, list) else []
    return cited(text, known) or sorted(sid for sid in known if sid in said)
