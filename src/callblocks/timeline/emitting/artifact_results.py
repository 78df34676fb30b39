"""Artifacts of an outcome: a digest and a content for each, after the results.

They are kept files that stand in no folder of the turn, at `fi:<turn>.files/<call>/<name>`;
`react.read` brings them by that path. An artifact whose beginning the output shows has no content
here.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from callblocks.model.blocks import Block
from callblocks.model.errors import BadPath
from callblocks.model.outcomes import Artifact, Failure, Notice
from callblocks.model.paths import FilePath, file_path
from callblocks.timeline.emitting.digest import digest_text
from callblocks.timeline.emitting.ended import Emitted, Ended
from callblocks.timeline.emitting.exec_results import EMBEDDED
from callblocks.timeline.emitting.file_blocks import TurnFile, file_blocks
from callblocks.timeline.emitting.holdings import left_out
from callblocks.timeline.emitting.notices import error_payload, notice_of_failure
from callblocks.timeline.keeping.mime import said_mime

__all__ = ("artifact_path", "artifact_results")


def artifact_results(ended: Ended, artifacts: Iterable[Artifact], hidden: set[str]) -> Emitted:
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


def _blocks(ended: Ended, file: TurnFile, without_content: bool) -> list[Block]:
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


def _broken(ended: Ended, path: FilePath, artifact: Artifact, failure: Failure) -> Block:
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
