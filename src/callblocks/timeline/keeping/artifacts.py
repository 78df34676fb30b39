"""Artifacts: files stored under the SHA-256 digest of their content, equal content once.

    artifacts/4f/4f0c…e1/report.txt

A second name for the same content is a hard link to it. A file appears whole or not at all, and
once storing returns it survives a power cut. The folder is not trusted: what is read must match its
digest, a mismatch is written anew, and no link is followed. A file larger than any artifact is not
read.
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

# The most bytes of an artifact.
MAX_ARTIFACT = 1 << 30

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ODD = re.compile(r"[^\w.+-]")
# The most bytes of a name; a file system accepts 255.
_NAME_LIMIT = 100


class Artifacts:
    """The artifacts below one folder; calling the object stores one."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._swept = False

    def __call__(self, name: str, content: bytes, mime: str = "") -> Artifact:
        """Store a file; its path is relative to the folder. Raise `OSError` if there is no room for
        it.

        Without a MIME type, or with an impossible one, it is determined by content and name.
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
            # Compared byte by byte, not trusted by its name: damage on disk is repaired by writing
            # anew.
            there = read_file(place, kept, range(size, size + 1))
            if there != content and not _link(place, kept, content):
                put(top, place, kept, content)
            # From the inside out, so that each folder is on disk before the one that names it.
            for folder in (place, shelf, top):
                os.fsync(folder)
        return Artifact(
            path=f"{digest[:2]}/{digest}/{kept}",
            size=size,
            digest=digest,
            mime=said_mime(mime, name, content),
        )

    def read(self, digest: str) -> bytes:
        """Return the content of a digest; raise `TimelineError` artifact_missing or
        artifact_damaged.
        """
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
        """Return the code of an artifact's fault; `None` if it is there, and correct."""
        try:
            self.read(digest)
        except TimelineError as error:
            return error.code
        return None

    def hosting(self, artifact: Artifact) -> dict[str, str]:
        """Return the location of an artifact, for the `meta` of a block; never shown to a model.

        `hosted_uri` is the file on this machine; `rn` is a name that holds wherever the content is;
        `key` is the place below whichever folder the artifacts were moved to.
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
        """Return the content; `None` if nothing is there; raise if only a wrong one is."""
        is_wrong = False
        with ExitStack() as stack:
            try:
                top = stack.enter_context(open_folder(str(self.folder)))
                shelf = stack.enter_context(open_folder(top, digest[:2]))
                place = stack.enter_context(open_folder(shelf, digest))
            except (FileNotFoundError, NotADirectoryError):
                return None
            for _, content in regular_files(place, range(MAX_ARTIFACT + 1)):
                # Several names may exist, and one of them may be damaged; any intact one serves.
                if content is not None and hashlib.sha256(content).hexdigest() == digest:
                    return content
                is_wrong = True
        if is_wrong:
            words = f"artifact {digest} in {self.folder} has another content"
            raise TimelineError("artifact_damaged", words, digest=digest)
        return None


def _link(place: int, name: str, content: bytes) -> bool:
    """Link content that exists under another name to this name too, if possible."""
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
    """Return the last part of a name, without characters that mean something to a shell or
    a path.
    """
    plain = _ODD.sub("_", name.replace("\\", "/").rpartition("/")[2]).lstrip(".-")
    stem, dot, ending = plain.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (ending, "")
    ending = _cut(ending, 20)
    return _cut(stem, _NAME_LIMIT - len(ending.encode())) + ending or "file"


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")
