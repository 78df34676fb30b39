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
import stat
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from callblocks.core.errors import TimelineError
from callblocks.core.outcomes import Artifact
from callblocks.core.text import brief
from callblocks.guard.files.replace_file import create_temporary, fill, remove_if_left
from callblocks.timeline.artifacts.media_types import said_mime

__all__ = (
    "MAX_ARTIFACT",
    "ArtifactStore",
    "Artifacts",
    "OpenArtifact",
    "Stored",
    "artifact_of_content",
    "is_digest",
    "open_folder",
    "put",
    "read_file",
    "regular_files",
    "sweep",
)

# --- Atomic files below a folder: written beside, synced, renamed, synced ---
#
# Folders are opened one by one and never through a link. A file that is being written stands in the
# top folder under a name that begins with `.new-`, and is locked: one that nobody locks was left by
# a process that died, and is swept.

_NEW = ".new-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# NONBLOCK: a pipe in place of a file would block its reader forever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def open_folder(parent: int | str, name: str = "", *, make: bool = False) -> Generator[int]:
    """Open a folder in an open folder, or the top one by its path; `make` creates a missing one.

    The top folder may be a link: that is its owner's choice. None of the others may.
    """
    if isinstance(parent, str):
        if make:
            os.makedirs(parent, mode=0o700, exist_ok=True)
        folder = os.open(parent, _FOLDER)
    else:
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=parent)
        folder = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    try:
        yield folder
    finally:
        os.close(folder)


def regular_files(folder: int, sizes: range) -> Iterator[tuple[str, bytes | None]]:
    """Yield the name and the content of each file in a folder; skip links, pipes and `.names`.

    A file of another size is not read: `None`. A sparse file costs no room on a disk, and much in
    memory.
    """
    for name in sorted(os.listdir(folder)):
        is_file, content = (False, None) if name.startswith(".") else _read(folder, name, sizes)
        if is_file:
            yield name, content


def read_file(folder: int, name: str, sizes: range) -> bytes | None:
    """Return the content of a file in a folder; `None` if no file of such a size is there, or a
    link.
    """
    return _read(folder, name, sizes)[1]


def _read(folder: int, name: str, sizes: range) -> tuple[bool, bytes | None]:
    """Return whether a regular file is there, and its content."""
    try:
        opened = os.open(name, _READ, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
            return False, None
        raise
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            return False, None
        # Before reading: a sparse file of a terabyte takes no room on the disk and all of the
        # memory.
        if found.st_size not in sizes:
            return True, None
        with open(opened, "rb", closefd=False) as file:
            return True, file.read(found.st_size)
    finally:
        os.close(opened)


def put(top: int, folder: int, name: str, content: bytes) -> None:
    """Replace `name` in a folder by this content, whatever was there."""
    temporary, new = create_temporary(top, 0o600, _NEW)
    try:
        try:
            fill(new, content)
            os.fsync(new)
            # Synced before the rename, so that the name never refers to an empty file after a power
            # cut.
            os.rename(temporary, name, src_dir_fd=top, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=top)
            raise
    finally:
        os.close(new)


def sweep(top: int) -> None:
    """Remove temporary files of processes that died."""
    for name in os.listdir(top):
        if name.startswith(_NEW):
            with suppress(OSError):
                remove_if_left(top, name)


# --- Artifacts: files stored under the SHA-256 digest of their content, equal content once ---

# The most bytes of an artifact.
MAX_ARTIFACT = 1 << 30

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ODD = re.compile(r"[^\w.+-]")
# The most bytes of a name; a file system accepts 255.
_NAME_LIMIT = 100


_TRASH = ".trash"


class Stored(NamedTuple):
    """An artifact in a list; `age` is the seconds since it was last put, by the store's clock."""

    digest: str
    size: int
    age: float


class OpenArtifact(NamedTuple):
    """An artifact that was checked whole: its size, and what reads the bytes from one to another.

    A part may be asked for long after; if the artifact is gone by then, that is a `TimelineError`.
    """

    size: int
    part: Callable[[int, int], bytes]


class ArtifactStore(Protocol):
    """Artifacts of a folder or of a bucket."""

    def __call__(self, name: str, content: bytes, mime: str = "") -> Artifact:
        """Store a file; it is safe when this returns. Raise `OSError` if it cannot be kept."""
        ...

    def read(self, digest: str) -> bytes:
        """Return the content of a digest; raise `TimelineError` artifact_missing, artifact_damaged,
        or store_unavailable where that is not known.
        """
        ...

    def open(self, digest: str) -> OpenArtifact:
        """Return an artifact whose parts can be read; raise what `read` does."""
        ...

    def check(self, digest: str) -> str | None:
        """Return the code of an artifact's fault; `None` if it is there, and correct."""
        ...

    def hosting(self, artifact: Artifact) -> dict[str, str]:
        """Return the location of an artifact, for the `meta` of a block; never shown to a model."""
        ...

    def probe(self) -> None:
        """Raise `TimelineError` store_unavailable unless something could be kept now."""
        ...

    def stored(self) -> Iterator[Stored]:
        """Yield every artifact."""
        ...

    def buried(self) -> Iterator[Stored]:
        """Yield what lies in the trash; the age is that of the burial."""
        ...

    def bury(self, digest: str) -> None:
        """Move an artifact to the trash, from where a read still takes it."""
        ...

    def restore(self, digest: str) -> None:
        """Take an artifact back from the trash."""
        ...

    def purge(self, digest: str) -> None:
        """Delete an artifact that lies in the trash."""
        ...


def is_digest(text: str) -> bool:
    """Return whether a text is a SHA-256 digest in hex."""
    return _DIGEST.fullmatch(text) is not None


def artifact_of_content(name: str, content: bytes, mime: str) -> Artifact:
    """Return the artifact that a content makes; its path ends with a name that is safe.

    Without a MIME type, or with an impossible one, it is determined by content and name.
    """
    digest = hashlib.sha256(content).hexdigest()
    return Artifact(
        path=f"{digest[:2]}/{digest}/{_file_name(name)}",
        size=len(content),
        digest=digest,
        mime=said_mime(mime, name, content),
    )


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
        artifact = artifact_of_content(name, content, mime)
        digest, kept = artifact.digest, artifact.path.rpartition("/")[2]
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
            # What is old could be garbage that somebody is about to remove.
            os.utime(place)
            # From the inside out, so that each folder is on disk before the one that names it.
            for folder in (place, shelf, top):
                os.fsync(folder)
        return artifact

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

    def open(self, digest: str) -> OpenArtifact:
        """Return an artifact whose parts can be read."""
        content = self.read(digest)

        def part(start: int, stop: int) -> bytes:
            return content[start:stop]

        return OpenArtifact(len(content), part)

    def probe(self) -> None:
        """Raise `TimelineError` store_unavailable unless the folder is there, or can be made."""
        try:
            with open_folder(str(self.folder), make=True):
                pass
        except OSError as error:
            words = f"{self.folder}: {error.strerror or error}"
            raise TimelineError("store_unavailable", words) from error

    # --- Garbage: see `callblocks.timeline.log.upkeep` ---

    def stored(self) -> Iterator[Stored]:
        """Yield every artifact, with the seconds since it was last put."""
        with ExitStack() as stack:
            try:
                top = stack.enter_context(open_folder(str(self.folder)))
            except FileNotFoundError:
                return
            for shelf_name in sorted(os.listdir(top)):
                if len(shelf_name) == 2:
                    yield from self._listed(top, shelf_name)

    def buried(self) -> Iterator[Stored]:
        """Yield what lies in the trash, with the seconds since it came there."""
        with ExitStack() as stack:
            try:
                top = stack.enter_context(open_folder(str(self.folder)))
            except FileNotFoundError:
                return
            yield from self._listed(top, _TRASH)

    def bury(self, digest: str) -> None:
        """Move an artifact to the trash, from where a read still takes it."""
        self._move(digest, digest[:2], _TRASH)

    def restore(self, digest: str) -> None:
        """Take an artifact back from the trash."""
        self._move(digest, _TRASH, digest[:2])

    def purge(self, digest: str) -> None:
        """Delete an artifact that lies in the trash."""
        with ExitStack() as stack:
            try:
                top = stack.enter_context(open_folder(str(self.folder)))
                trash = stack.enter_context(open_folder(top, _TRASH))
                place = stack.enter_context(open_folder(trash, digest))
            except (FileNotFoundError, NotADirectoryError):
                return
            for name in os.listdir(place):
                os.unlink(name, dir_fd=place)
            os.rmdir(digest, dir_fd=trash)

    def _listed(self, top: int, name: str) -> Iterator[Stored]:
        now = time.time()
        with ExitStack() as stack:
            try:
                shelf = stack.enter_context(open_folder(top, name))
            except (FileNotFoundError, NotADirectoryError):
                return
            for digest in sorted(filter(is_digest, os.listdir(shelf))):
                with (
                    suppress(FileNotFoundError, NotADirectoryError),
                    open_folder(shelf, digest) as place,
                ):
                    files = [os.stat(one, dir_fd=place) for one in os.listdir(place)]
                    size = max((file.st_size for file in files), default=0)
                    yield Stored(digest, size, now - os.fstat(place).st_mtime)

    def _move(self, digest: str, source: str, target: str) -> None:
        with ExitStack() as stack:
            top = stack.enter_context(open_folder(str(self.folder)))
            try:
                old = stack.enter_context(open_folder(top, source))
                new = stack.enter_context(open_folder(top, target, make=True))
                # Its time is when it was moved, and a folder at the new place is replaced only if
                # it is empty.
                os.utime(digest, dir_fd=old, follow_symlinks=False)
                os.rename(digest, digest, src_dir_fd=old, dst_dir_fd=new)
            except FileNotFoundError:
                return
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                return
            for folder in (new, old, top):
                os.fsync(folder)

    def _sweep(self, top: int) -> None:
        if not self._swept:
            self._swept = True
            sweep(top)

    def _find(self, digest: str) -> bytes | None:
        """Return the content; `None` if nothing is there; raise if only a wrong one is."""
        is_wrong = False
        for shelf_name in (digest[:2], _TRASH):
            with ExitStack() as stack:
                try:
                    top = stack.enter_context(open_folder(str(self.folder)))
                    shelf = stack.enter_context(open_folder(top, shelf_name))
                    place = stack.enter_context(open_folder(shelf, digest))
                except (FileNotFoundError, NotADirectoryError):
                    continue
                for _, content in regular_files(place, range(MAX_ARTIFACT + 1)):
                    # Several names may exist, and one of them may be damaged; any intact one
                    # serves.
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
