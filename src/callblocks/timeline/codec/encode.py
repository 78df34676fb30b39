"""An outcome of any tool as blocks: the code, the call, notices, records, and results last.

    emit(call, outcome, stamp=stamp, shape=shape_of(call.name), holdings=holdings)

Records stand before the results: the results end the round, and what the round freezes can no
longer be hidden. The model's text before the call (notes) is written by the session and not here.
Nothing that a tool or a model did makes this raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from callblocks.core.blocks import RECORDS, Block
from callblocks.core.calls import Call, CheckedCall
from callblocks.core.errors import BadPath
from callblocks.core.json_values import json_text, plain
from callblocks.core.outcomes import Artifact, Failure, Notice, Outcome
from callblocks.core.paths import FilePath, file_path
from callblocks.core.redaction import without_secrets
from callblocks.timeline.artifacts.mime import said_mime
from callblocks.timeline.codec.call_blocks import Shape, as_run, call_blocks
from callblocks.timeline.codec.call_stamp import (
    ERROR_NOTICES,
    Stamp,
    error_payload,
    notice_blocks,
    notice_of_failure,
)
from callblocks.timeline.codec.decode import outcome_of
from callblocks.timeline.codec.ended_call import Emitted, EndedCall, Holdings, is_spilled, left_out
from callblocks.timeline.codec.exec_results import EMBEDDED, exec_results
from callblocks.timeline.codec.file_blocks import TurnFile, digest_text, file_blocks
from callblocks.timeline.codec.file_results import rendering_results, write_results
from callblocks.timeline.codec.plain_results import fetch_results, plain_results, search_results

__all__ = (
    "artifact_path",
    "artifact_results",
    "emit",
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
    others = _artifacts(ended, emitted)
    results, cut_short = _bounded((*emitted.results, *others.results))
    notices = (*outcome.notices, *emitted.notices, *others.notices, *cut_short)
    return [
        *notice_blocks(stamp, _told(notices, shape)),
        *(block for block in brought if block.type in RECORDS),
        *emitted.records,
        *results,
    ]


def _artifacts(ended: EndedCall, emitted: Emitted) -> Emitted:
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


def with_files(outcome: Outcome, blocks: Sequence[Block]) -> Outcome:
    """Return the outcome with the files of its blocks, as later readers see them."""
    if not any(block.path.startswith("fi:") for block in blocks):
        return outcome
    known = {artifact.digest for artifact in outcome.artifacts}
    found = outcome_of(outcome.id, outcome.name, blocks).artifacts
    more = tuple(artifact for artifact in found if artifact.digest not in known)
    return replace(outcome, artifacts=(*outcome.artifacts, *more)) if more else outcome
