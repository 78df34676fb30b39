"""Artifacts in memory, and ones that find no room."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

from callblocks.core.errors import TimelineError
from callblocks.core.outcomes import Artifact
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.artifacts.media_types import mime_of


class MemoryArtifacts(Artifacts):
    """Kept under their digest, as on disk."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"))
        self.contents: dict[str, bytes] = {}

    def __call__(self, name: str, content: bytes, mime: str = "") -> Artifact:
        digest = hashlib.sha256(content).hexdigest()
        self.contents[digest] = content
        path = f"{digest[:2]}/{digest}/{name.rpartition('/')[2]}"
        kind = mime or mime_of(name, content)
        return Artifact(path=path, size=len(content), digest=digest, mime=kind)

    def read(self, digest: str) -> bytes:
        if digest not in self.contents:
            raise TimelineError("artifact_missing", f"{digest} is not in {self.folder}")
        return self.contents[digest]


class FullDisk(MemoryArtifacts):
    """Keeps nothing."""

    def __call__(self, name: str, content: bytes, mime: str = "") -> Artifact:
        raise OSError(errno.ENOSPC, "No space left on device")
