"""Places that hold files: a local folder, or a prefix in an S3 bucket, behind one protocol.

    place = open_storage("s3://corpora/2026/")
    place.files()                          every file below it, sorted by name
    place.read("a.jsonl", 0, 1024)         a range of bytes
    with place.new_file("out.jsonl") as f: the file is there when the block has ended, whole

S3 credentials, region and endpoint come from the environment, under the names that AWS gives them
(`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `AWS_ENDPOINT_URL`, …).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Protocol, cast

import msgspec

from callblocks.core.errors import CallerError
from callblocks.core.extras import needing

if TYPE_CHECKING:
    from obstore.store import S3Store

__all__ = ("File", "RangeFile", "Storage", "copy_into", "is_remote", "open_storage", "place_of")

_S3 = "s3://"
_STEP = 8 << 20


class File(msgspec.Struct, frozen=True):
    """A file of a place: its name, its bytes, and a stamp that changes with its content."""

    name: str
    size: int
    stamp: str


class Storage(Protocol):
    """A place that bulk work reads or writes. Names are relative, with `/` between their parts."""

    def files(self, below: str = "") -> list[File]:
        """Return the files below a prefix that ends with `/`, sorted by name."""
        ...

    def find(self, name: str) -> File | None:
        """Return one file, or `None`."""
        ...

    def read(self, name: str, start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end`; less at the end of the file."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Replace a file, whole or not at all."""
        ...

    @contextmanager
    def new_file(self, name: str) -> Generator[IO[bytes]]:
        """Open a file that takes its name when the block ends without an exception."""
        ...

    def remove(self, names: Sequence[str]) -> None:
        """Remove files; those that are not there count as removed."""
        ...

    @contextmanager
    def locked(self, name: str) -> Generator[None]:
        """Hold a lock for a block, where the place has locks; raise `CallerError` if it is held."""
        ...


def is_remote(place: str) -> bool:
    """Return whether a place is a URL."""
    return "://" in place


def place_of(path: str) -> tuple[str, str]:
    """Return the folder of a path, and the name in it; the name is "" for a folder itself."""
    if not is_remote(path):
        whole = os.path.abspath(path)
        return (whole, "") if os.path.isdir(whole) else os.path.split(whole)
    head, _, name = path.rpartition("/")
    return (f"{head}/", name)


def open_storage(place: str) -> Storage:
    """Open a folder or an `s3://` prefix by its text."""
    if place.startswith(_S3):
        return S3Storage(place)
    if is_remote(place):
        raise CallerError(f"{place}: only local paths and s3:// are read")
    return LocalStorage(place)


class LocalStorage:
    """A folder. It is made by the first write."""

    def __init__(self, folder: str) -> None:
        self._root = Path(folder)

    def files(self, below: str = "") -> list[File]:
        top = self._root / below
        found = [path for path in top.rglob("*") if path.is_file()]
        names = sorted(path.relative_to(self._root).as_posix() for path in found)
        return [file for name in names if (file := self.find(name))]

    def find(self, name: str) -> File | None:
        try:
            found = (self._root / name).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return File(name, found.st_size, str(found.st_mtime_ns))

    def read(self, name: str, start: int, end: int) -> bytes:
        with (self._root / name).open("rb") as file:
            file.seek(start)
            return file.read(max(0, end - start))

    def write(self, name: str, content: bytes) -> None:
        with self.new_file(name) as file:
            file.write(content)

    @contextmanager
    def new_file(self, name: str) -> Generator[IO[bytes]]:
        target = self._root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            with new.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            new.replace(target)
        finally:
            new.unlink(missing_ok=True)

    def remove(self, names: Sequence[str]) -> None:
        for name in names:
            (self._root / name).unlink(missing_ok=True)

    @contextmanager
    def locked(self, name: str) -> Generator[None]:
        import fcntl

        target = self._root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise CallerError(f"{self._root}: another run writes here") from None
            yield


class S3Storage:
    """A prefix of a bucket in any service that speaks S3; obstore talks to it."""

    def __init__(self, place: str) -> None:
        bucket, _, prefix = place.removeprefix(_S3).partition("/")
        if not bucket:
            raise CallerError(f"{place}: it names no bucket")
        self._place = place
        self._prefix = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""
        with needing("bulk", place):
            from obstore.store import S3Store
        plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
        self._store: S3Store = S3Store(bucket, client_options={"allow_http": plain})

    def files(self, below: str = "") -> list[File]:
        import obstore

        top = f"{self._prefix}{below}"
        with self._faults():
            pages = cast("Any", obstore).list(self._store, top.rstrip("/") or None)
            rows: list[dict[str, Any]] = [row for page in pages for row in page]
        keys = [row for row in rows if row["path"].startswith(top)]
        files = [
            File(row["path"].removeprefix(self._prefix), row["size"], row["e_tag"] or "")
            for row in keys
        ]
        return sorted(files, key=lambda file: file.name)

    def find(self, name: str) -> File | None:
        import obstore

        with self._faults():
            try:
                row = obstore.head(self._store, self._prefix + name)
            except FileNotFoundError:
                return None
        return File(name, row["size"], row["e_tag"] or "")

    def read(self, name: str, start: int, end: int) -> bytes:
        import obstore

        if end <= start:
            return b""
        with self._faults():
            return bytes(obstore.get_range(self._store, self._prefix + name, start=start, end=end))

    def write(self, name: str, content: bytes) -> None:
        import obstore

        with self._faults():
            obstore.put(self._store, self._prefix + name, content)

    @contextmanager
    def new_file(self, name: str) -> Generator[IO[bytes]]:
        import obstore

        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with self._faults():
                obstore.put(self._store, self._prefix + name, file)

    def remove(self, names: Sequence[str]) -> None:
        import obstore

        with self._faults():
            for name in names:
                with suppress(FileNotFoundError):
                    obstore.delete(self._store, self._prefix + name)

    @contextmanager
    def locked(self, name: str) -> Generator[None]:
        # S3 has no locks. Two runs of one job write equal bytes under equal names; two jobs are
        # told apart by the manifest.
        yield

    @contextmanager
    def _faults(self) -> Generator[None]:
        """Raise what the service says as an `OSError` that names the place."""
        from obstore.exceptions import BaseError

        try:
            yield
        except BaseError as error:
            words = " ".join(str(error).split())
            raise OSError(5, f"{words:.300}", self._place) from error


def copy_into(target: IO[bytes], storage: Storage, name: str, digest: Any) -> None:
    """Append a file of a place to an open one, and feed it to a hash, in steps of 8 MB."""
    found = storage.find(name)
    if found is None:
        raise FileNotFoundError(2, "a part is gone", name)
    for start in range(0, found.size, _STEP):
        block = storage.read(name, start, min(found.size, start + _STEP))
        target.write(block)
        digest.update(block)


class RangeFile:
    """A file of a place, as pyarrow reads it: by seeking."""

    def __init__(self, storage: Storage, name: str, size: int) -> None:
        self._storage, self._name, self._size = storage, name, size
        self._at = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._size, self._at + size)
        content = self._storage.read(self._name, self._at, end)
        self._at += len(content)
        return content

    def seek(self, offset: int, whence: Literal[0, 1, 2] = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True

    def flush(self) -> None:
        """Do nothing: it is only read."""
