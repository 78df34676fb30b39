"""The codec of outcomes: the blocks of an outcome, and the outcome that blocks denote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from callblocks.core.blocks import RECORDS, Block, Entry
from callblocks.core.calls import Call, CheckedCall
from callblocks.core.errors import BadPath
from callblocks.core.json_values import json_text, plain
from callblocks.core.outcomes import Artifact, Failure, Notice, Outcome, without_managed
from callblocks.core.paths import FilePath, file_path
from callblocks.core.redaction import without_secrets
from callblocks.timeline.artifacts.media_types import said_mime
from callblocks.timeline.codec.call_blocks import (
    ERROR_NOTICES,
    Shape,
    Stamp,
    as_run,
    call_blocks,
    error_payload,
    notice_blocks,
    notice_of_failure,
)
from callblocks.timeline.codec.ended_call import (
    Emitted,
    EndedCall,
    Holdings,
    TurnFile,
    digest_text,
    file_blocks,
    is_spilled,
    left_out,
    plain_results,
)
from callblocks.timeline.codec.results import (
    EMBEDDED,
    exec_results,
    fetch_results,
    rendering_results,
    search_results,
    write_results,
)

__all__ = (
    "artifact_path",
    "artifact_results",
    "emit",
    "outcome_of",
    "read_digest",
    "read_object",
    "read_results",
    "result_blocks",
    "with_files",
)

# --- The result of `react.read`: the status first, then the blocks ---


def read_results(ended: EndedCall) -> Emitted:
    """Return the status at `tc:…result`, and the blocks; a failure is one like any other."""
    if ended.outcome.error is not None:
        return plain_results(ended)
    status = json_text(without_secrets(plain(ended.outcome.output)))
    return Emitted(results=(ended.stamp.result("status", status), *ended.brought))


# --- Artifacts of an outcome: a digest and a content for each, after the results ---
#
# They are kept files that stand in no folder of the turn, at `fi:<turn>.files/<call>/<name>`;
# `react.read` brings them by that path. An artifact whose beginning the output shows has no content
# here.


def artifact_results(ended: EndedCall, artifacts: Iterable[Artifact], hidden: set[str]) -> Emitted:
    """Return the blocks of artifacts; those with a digest in `hidden` show no content."""
    notices: list[Notice] = []
    results: list[Block] = []
    # By digest: a tool may have kept the same content under two names.
    for artifact in {one.digest: one for one in artifacts}.values():
        content = ended.holdings.content(artifact)
        path = artifact_path(ended.stamp.turn, ended.stamp.call, artifact)
        if isinstance(content, Failure):
            failure = replace(content, where=str(path))
            notices.append(notice_of_failure(ended.stamp, failure))
            results.append(_broken(ended, path, artifact, failure))
            continue
        file = ended.holdings.hosted(path, content, artifact)
        notices += left_out(file)
        results += _blocks(ended, file, artifact.digest in hidden)
    return Emitted(notices=tuple(notices), results=tuple(results))


def artifact_path(turn: str, call: str, artifact: Artifact) -> FilePath:
    """Return the path of a kept file on the timeline: under its name, where that is valid."""
    name = artifact.path.rpartition("/")[2]
    try:
        return file_path(turn, f"{call}/{name or 'file'}")
    except BadPath:
        return file_path(turn, f"{call}/file")


def _blocks(ended: EndedCall, file: TurnFile, without_content: bool) -> list[Block]:
    # The physical path does not exist until somebody reads the file.
    blocks = file_blocks(
        ended.stamp,
        file,
        tokens=ended.holdings.tokens,
        fields={"physical_path": "", "visibility": "internal"},
        text_limit=EMBEDDED,
    )
    if not without_content:
        return blocks
    return [blocks[0], *(replace(block, text=None, base64=None) for block in blocks[1:])]


def _broken(ended: EndedCall, path: FilePath, artifact: Artifact, failure: Failure) -> Block:
    text = digest_text(
        artifact_path=str(path),
        mime=said_mime(artifact.mime, artifact.path, b""),
        kind="file",
        visibility="internal",
        tool_call_id=ended.stamp.call,
        size_bytes=artifact.size,
        error=error_payload(ended.stamp, failure),
        sha256=artifact.digest,
    )
    return ended.stamp.result("digest", text)


# --- An outcome of any tool as blocks: the code, the call, notices, records, and results last ---
#
#     emit(call, outcome, stamp=stamp, shape=shape_of(call.name), holdings=holdings)
#
# Records stand before the results: the results end the round, and what the round freezes can no
# longer be hidden. The model's text before the call (notes) is written by the session and not here.
# Nothing that a tool or a model did makes this raise.

_Results: TypeAlias = Callable[[EndedCall], Emitted]

_RESULTS: dict[Shape, _Results] = {
    "plain": plain_results,
    "write": write_results,
    "rendering": rendering_results,
    "exec": exec_results,
    "read": read_results,
    "hide": plain_results,
    "search": search_results,
    "fetch": fetch_results,
}

# The most characters of base64 and text in all results of one call; a store takes them at once.
_TOTAL = 128 * 2**20


def emit(
    call: Call,
    outcome: Outcome,
    *,
    stamp: Stamp,
    shape: Shape,
    holdings: Holdings,
    checked: CheckedCall | None = None,
    brought: Sequence[Block] = (),
) -> list[Block]:
    """Return every block of a call. `brought` are blocks and records that the tool itself left."""
    return [
        *call_blocks(stamp, call, shape, holdings.artifacts, checked),
        *result_blocks(
            call,
            outcome,
            stamp=stamp,
            shape=shape,
            holdings=holdings,
            checked=checked,
            brought=brought,
        ),
    ]


def result_blocks(
    call: Call,
    outcome: Outcome,
    *,
    stamp: Stamp,
    shape: Shape,
    holdings: Holdings,
    checked: CheckedCall | None = None,
    brought: Sequence[Block] = (),
) -> list[Block]:
    """Return the blocks after the call block, for a call that was written before it ran.

    The results are of the call as it was checked: the model's own input may have other types.
    """
    # A failed call hides nothing and brings nothing, however far its tool came.
    brought = brought if outcome.error is None else ()
    shown = tuple(block for block in brought if block.type not in RECORDS)
    ran = as_run(call, checked)
    ended = EndedCall(call=ran, outcome=outcome, stamp=stamp, holdings=holdings, brought=shown)
    # Shapes decide what is shown; the bound below applies to everything that they return.
    emitted = _RESULTS[shape](ended)
    others = _artifact_blocks(ended, emitted)
    results, cut_short = _bounded((*emitted.results, *others.results))
    notices = (*outcome.notices, *emitted.notices, *others.notices, *cut_short)
    return [
        *notice_blocks(stamp, _told(notices, shape)),
        *(block for block in brought if block.type in RECORDS),
        *emitted.records,
        *results,
    ]


def _artifact_blocks(ended: EndedCall, emitted: Emitted) -> Emitted:
    """Return the artifacts that the results do not show by themselves."""
    artifacts = [one for one in ended.outcome.artifacts if one.digest not in emitted.shown]
    output = ended.outcome.output
    begun = {one.digest for one in artifacts if is_spilled(output, one)}
    begun.update(one.digest for one in emitted.kept)
    return artifact_results(ended, (*artifacts, *emitted.kept), begun)


def _told(notices: Iterable[Notice], shape: Shape) -> list[Notice]:
    """Return the notices; errors of code stand in its report instead."""
    return [one for one in notices if shape != "exec" or one.code not in ERROR_NOTICES]


def _bounded(blocks: Iterable[Block]) -> tuple[list[Block], list[Notice]]:
    """Return the blocks; past the total, files have no content."""
    left, kept, without = _TOTAL, list[Block](), list[str]()
    for block in blocks:
        size = len(block.base64 or "") + len(block.text or "")
        if size > left and block.path.startswith("fi:"):
            without.append(block.path)
            kept.append(msgspec.structs.replace(block, text=None, base64=None))
        else:
            left -= size
            kept.append(block)
    if not without:
        return kept, []
    words = "these results are too large together; react.read brings the others one by one"
    return kept, [Notice(code="file_too_large", message=words, details={"paths": without})]


# --- The outcome with the files that its blocks name ---


def with_files(outcome: Outcome, entries: Sequence[Entry]) -> Outcome:
    """Return the outcome with the files of its entries, as later readers see them."""
    blocks = [entry.block for entry in entries]
    if not any(block.path.startswith("fi:") for block in blocks):
        return outcome
    known = {artifact.digest for artifact in outcome.artifacts}
    found = outcome_of(outcome.id, outcome.name, blocks).artifacts
    more = tuple(artifact for artifact in found if artifact.digest not in known)
    return replace(outcome, artifacts=(*outcome.artifacts, *more)) if more else outcome


# --- The outcome of a call, read back from its blocks ---
#
#     digest with an error        the failure
#     content, status             the output: its JSON value, or its text
#     report                      what the code gave, or else the report itself
#     digest of a file            an artifact; also the output, where there is no other
#
# Only the first digest speaks for the call; a later one with an error is of a file that got lost.
# `managed` is not read: blocks of other writers and of earlier versions may hold it at any depth.

_REPORT, _NO_ERROR = "Runtime error: ", "none"


def outcome_of(id: str, name: str, blocks: Sequence[Block]) -> Outcome:
    """Return the outcome of one call, read from its notices and results."""
    results = [block for block in blocks if block.type == "react.tool.result"]
    notices = [read_object(block) for block in blocks if block.type == "react.notice"]
    digests = [digest for block in results if (digest := read_digest(block)) is not None]
    main = digests[0] if digests else {}
    output, has_output = _output(results)
    error = _failure(main.get("error")) or _reported(results)
    if error is None and not has_output and not digests:
        error = _noticed(notices)
    if not has_output and error is None and digests:
        output = {key: value for key, value in main.items() if key != "tool_call_id"}
    return Outcome(
        id=id,
        name=name,
        output=output,
        error=error,
        artifacts=() if _is_status(results) else _artifacts(digests),
        notices=tuple(_notice(said) for said in notices if said.get("code") not in ERROR_NOTICES),
    )


def _output(results: Sequence[Block]) -> tuple[Any, bool]:
    """Return the output, and whether there is one; files are no output."""
    for block in results:
        if block.meta.get("role") == "digest" or block.path.startswith("fi:"):
            continue
        if "output" in block.meta:
            return block.meta["output"], True
        return _value(block), True
    return None, False


def _value(block: Block) -> Any:
    text = block.text or ""
    if block.mime != "application/json":
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return text  # it was too long for a block, and cut


def _failure(said: Any) -> Failure | None:
    if not isinstance(said, dict):
        return None
    error = cast("dict[str, Any]", said)
    details: Any = error.get("details")
    return Failure(
        code=str(error.get("code", "")),
        message=str(error.get("message", "")),
        where=str(error.get("where", "")),
        details=without_managed(details) if isinstance(details, dict) else {},
    )


def _reported(results: Sequence[Block]) -> Failure | None:
    """The error that the report of code begins with."""
    for block in results:
        line = (block.text or "").partition("\n")[0]
        if block.meta.get("role") == "report" and line.startswith(_REPORT):
            code, _, message = line.removeprefix(_REPORT).partition(" — ")
            return None if code == _NO_ERROR else Failure(code=code, message=message)
    return None


def _noticed(notices: Sequence[dict[str, Any]]) -> Failure | None:
    """A failure that only a notice tells of."""
    for said in notices:
        if said.get("code") in ERROR_NOTICES:
            words = {"code": said["code"], "message": said.get("message", "")}
            return _failure(said.get("error")) or _failure(words)
    return None


def _notice(said: dict[str, Any]) -> Notice:
    told = without_managed(said)
    details = {key: value for key, value in told.items() if key not in ("code", "message")}
    return Notice(
        code=str(said.get("code", "")), message=str(said.get("message", "")), details=details
    )


def _is_status(results: Sequence[Block]) -> bool:
    """Return whether the results begin with a status: their files are of other calls."""
    return bool(results) and results[0].meta.get("role") == "status"


def _artifacts(digests: Sequence[dict[str, Any]]) -> tuple[Artifact, ...]:
    return tuple(
        Artifact(
            path=digest["artifact_path"],
            size=size if type(size := digest.get("size_bytes")) is int else 0,
            digest=digest["sha256"],
            mime=str(digest.get("mime", "application/octet-stream")),
        )
        for digest in digests
        if digest["artifact_path"].startswith("fi:")
        and isinstance(digest.get("sha256"), str)
        and "error" not in digest
    )


def read_digest(block: Block) -> dict[str, Any] | None:
    """Return the fields of a digest; None if the block is no digest."""
    said = read_object(block) if block.meta.get("role") == "digest" else {}
    return said if isinstance(said.get("artifact_path"), str) else None


def read_object(block: Block) -> dict[str, Any]:
    """Return the JSON object that a block holds; an empty one if it holds none."""
    if block.mime != "application/json":
        return {}
    try:
        said = msgspec.json.decode(block.text or "")
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return {}
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}
