"""A folder of kept files, each under its digest: the same content is kept once.

    artifacts/4f/4f0c…e1/report.txt

A file appears whole or not at all: temporary file, fsync, rename.
"""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path

from callblocks.model.outcomes import Artifact

__all__ = ("KeptFiles",)

_ODD = re.compile(r"[^\w.+-]")
_NAME_LIMIT = 100
"""Bytes of a name; a file system takes 255."""


class KeptFiles:
    """Keeps files below one folder; calling it is keeping one."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def __call__(self, name: str, content: bytes, mime: str = "") -> Artifact:
        """Keep a file; its path is relative to the folder."""
        digest = hashlib.sha256(content).hexdigest()
        name = _file_name(name)
        place = self.folder / digest[:2] / digest
        for folder in (self.folder, place.parent, place):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (place / name).exists():
            _write(place / name, content)
        guessed = mime or mimetypes.guess_type(name)[0] or "application/octet-stream"
        path = str((place / name).relative_to(self.folder))
        return Artifact(path=path, size=len(content), digest=digest, mime=guessed)

    def read(self, artifact: Artifact) -> bytes:
        """The content of a file that was kept."""
        return (self.folder / artifact.path).read_bytes()


def _file_name(name: str) -> str:
    """The last part of a name, with nothing in it that means something to a shell or a path."""
    plain = _ODD.sub("_", name.replace("\\", "/").rpartition("/")[2]).lstrip(".-")
    stem, dot, ending = plain.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (ending, "")
    ending = _cut(ending, 20)
    return _cut(stem, _NAME_LIMIT - len(ending.encode())) + ending or "file"


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")


def _write(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
