"""Resources of a timeline beside its blocks: files, artifacts, sources, and a token counter.

Methods never raise: an unreadable file counts as absent, and one that cannot be kept gives a
notice.
"""

from __future__ import annotations

import msgspec

from callblocks.model.errors import TimelineError, ToolError
from callblocks.model.outcomes import Artifact, Failure, Notice
from callblocks.model.paths import FilePath
from callblocks.timeline.codes import TIMELINE_CODES
from callblocks.timeline.emitting.file_blocks import TurnFile, is_left_out
from callblocks.timeline.files import TurnFiles
from callblocks.timeline.keeping.artifacts import Artifacts
from callblocks.timeline.pool import SourcesPool
from callblocks.timeline.tokens import Tokens

__all__ = ("Holdings", "left_out")


class Holdings(msgspec.Struct, frozen=True, kw_only=True):
    """Access to files, artifacts, sources and token counts."""

    files: TurnFiles
    artifacts: Artifacts
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
