"""Artifacts: files kept under the SHA-256 digest of their content, the same content once.

    artifacts/4f/4f0c…e1/report.txt

A second name for the same content is a second link to it. A file appears whole or not at all, and
once keeping returns it outlives a loss of power. Nothing in the folder is believed: what is read
must fit its digest, what does not fit is written anew, and a link is not followed. A file larger
than any that is kept is not looked into.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from contextlib import ExitStack
from pathlib import Path

from callblocks.model.brief import brief
from callblocks.model.errors import TimelineError
from callblocks.model.outcomes import Artifact
from callblocks.timeline.keeping.kept_files import open_folder, put, read_file, regular_files, sweep
from callblocks.timeline.keeping.mime import said_mime

__all__ = ("MAX_ARTIFACT", "Artifacts")

MAX_ARTIFACT = 1 << 30
"""Bytes of the largest file that is kept."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ODD = re.compile(r"[^\w.+-]")
_NAME_LIMIT = 100
"""Bytes of a name; a file system takes 255."""


class Artifacts:
    """Keeps files below one folder; calling it is keeping one."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._swept = False

    def __call__(self, name: str, content: bytes, mime: str = "") -> Artifact:
        """Keep a file; its path is relative to the folder. `OSError` if there is no room for it.

        Without a MIME type, or with one that cannot be true, it is told by content and name.
        """
        size = len(content)
        if size > MAX_ARTIFACT:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        digest = hashlib.sha256(content).hexdigest()
        kept = _file_name(name)
        with ExitStack() as stack:
            top = stack.enter_context(open_folder(str(self.folder), make=True))
            shelf = stack.enter_context(open_folder(top, digest[:2], make=True))
            place = stack.enter_context(open_folder(shelf, digest, make=True))
            self._sweep(top)
            there = read_file(place, kept, range(size, size + 1))
            if there != content and not _link(place, kept, content):
                put(top, place, kept, content)
            for folder in (place, shelf, top):
                os.fsync(folder)
        return Artifact(
            path=f"{digest[:2]}/{digest}/{kept}",
            size=size,
            digest=digest,
            mime=said_mime(mime, name, content),
        )

    def read(self, digest: str) -> bytes:
        """The content of that digest; else `TimelineError` artifact_missing, artifact_damaged."""
        if not _DIGEST.fullmatch(digest):
            raise TimelineError("artifact_missing", f"{brief(digest)} is no SHA-256 digest in hex")
        try:
            found = self._find(digest)
        except OSError as error:
            words = f"artifact {digest} cannot be read: {error.strerror or error}"
            raise TimelineError("artifact_damaged", words, digest=digest) from error
        if found is None:
            words = f"artifact {digest} is not in {self.folder}"
            raise TimelineError("artifact_missing", words, digest=digest)
        return found

    def check(self, digest: str) -> str | None:
        """The code of what is wrong with an artifact; `None` if it is there, and right."""
        try:
            self.read(digest)
        except TimelineError as error:
            return error.code
        return None

    def hosting(self, artifact: Artifact) -> dict[str, str]:
        """Where an artifact is, for the `meta` of a block; never for the eyes of a model.

        `hosted_uri` is the file on this machine; `rn` is a name that holds wherever the content
        is; `key` is the place below whichever folder the artifacts were moved to.
        """
        return {
            "hosted_uri": (self.folder.absolute() / artifact.path).as_uri(),
            "rn": f"artifact:sha256:{artifact.digest}",
            "key": artifact.path,
        }

    def _sweep(self, top: int) -> None:
        if not self._swept:
            self._swept = True
            sweep(top)

    def _find(self, digest: str) -> bytes | None:
        """The right content; `None` if nothing is there, and an error if only a wrong one is."""
        is_wrong = False
        with ExitStack() as stack:
            try:
                top = stack.enter_context(open_folder(str(self.folder)))
                shelf = stack.enter_context(open_folder(top, digest[:2]))
                place = stack.enter_context(open_folder(shelf, digest))
            except (FileNotFoundError, NotADirectoryError):
                return None
            for _, content in regular_files(place, range(MAX_ARTIFACT + 1)):
                if content is not None and hashlib.sha256(content).hexdigest() == digest:
                    return content
                is_wrong = True
        if is_wrong:
            words = f"artifact {digest} in {self.folder} has another content"
            raise TimelineError("artifact_damaged", words, digest=digest)
        return None


def _link(place: int, name: str, content: bytes) -> bool:
    """Give content that is there under another name this name too, if that can be done."""
    size = len(content)
    for other, found in regular_files(place, range(size, size + 1)):
        if found == content:
            try:
                os.link(other, name, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=False)
            except OSError:  # something is at that name, or this file system has no links
                return False
            return True
    return False


def _file_name(name: str) -> str:
    """The last part of a name, with nothing in it that means something to a shell or a path."""
    plain = _ODD.sub("_", name.replace("\\", "/").rpartition("/")[2]).lstrip(".-")
    stem, dot, ending = plain.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (ending, "")
    ending = _cut(ending, 20)
    return _cut(stem, _NAME_LIMIT - len(ending.encode())) + ending or "file"


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")
