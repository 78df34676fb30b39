"""Artifacts in a bucket of any service that speaks S3, one object for each digest.

    s3://bucket/prefix      prefix/4f/4f0c…e1            an artifact
                            prefix/trash/4f0c…e1         one that no timeline named
                            prefix/clock                 written to learn the time of the service

The service is found and let in as every S3 client does it: `AWS_ENDPOINT_URL`, `AWS_REGION`,
`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, or the role of the machine.

The service is not trusted. A put is conditional, so equal content is sent once, and is read back:
only content that has its digest counts as kept. A fault of a put says nothing about its effect, so
the read decides then, too. What is read is hashed. A part of an object is returned only of the
version, by its ETag, that was hashed whole in this process before.

Each request has a time limit and few retries, so a slow or broken service costs a turn seconds, and
then the keeping fails as it does on a full disk.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections import OrderedDict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from callblocks.core.errors import TimelineError
from callblocks.core.extras import MissingExtra, needing
from callblocks.core.outcomes import Artifact
from callblocks.core.text import brief
from callblocks.timeline.artifacts.artifacts import (
    MAX_ARTIFACT,
    Artifacts,
    ArtifactStore,
    OpenArtifact,
    Stored,
    artifact_of_content,
    is_digest,
)

if TYPE_CHECKING:
    from obstore.store import S3Store

__all__ = ("BucketArtifacts", "Patience", "open_artifacts")

_S3 = "s3://"
_TRASH = "trash/"
_CLOCK = "clock"
# Larger content is not held in memory to be checked.
_HELD = 8 << 20
_PIECE = 4 << 20
# So many versions are remembered as checked.
_CHECKED = 1000
# A service that loses two puts of the same content is broken.
_TRIES = 2
# An object that is younger is not sent again: no collection of garbage looks at it for long.
_YOUNG = timedelta(hours=1)


class Patience(NamedTuple):
    """Bounds of one request: its seconds, its retries, and seconds for all of them together."""

    timeout: float = 30.0
    retries: int = 4
    total: float = 60.0
    first_pause: float = 0.1


_PATIENCE = Patience()


def open_artifacts(target: str | os.PathLike[str]) -> ArtifactStore:
    """Return the artifacts at `s3://bucket/prefix`, or in a folder."""
    place = os.fspath(target)
    return BucketArtifacts(place) if place.startswith(_S3) else Artifacts(place)


class _Version(NamedTuple):
    """A version of an object, which was hashed whole."""

    etag: str | None
    size: int


class BucketArtifacts:
    """The artifacts below a prefix of a bucket; calling the object stores one."""

    def __init__(self, place: str, patience: Patience = _PATIENCE) -> None:
        bucket, _, prefix = place.removeprefix(_S3).partition("/")
        if not bucket:
            raise TimelineError("store_unavailable", f"{brief(place)} names no bucket")
        prefix = prefix.strip("/")
        self.place = f"{_S3}{bucket}/{prefix}".rstrip("/")
        self._prefix = f"{prefix}/" if prefix else ""
        try:
            with needing("s3", "a store of artifacts on S3"):
                from obstore.store import S3Store
        except MissingExtra as error:
            raise TimelineError("store_unavailable", str(error), extra=error.extra) from error
        plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
        self._store: S3Store = S3Store(
            bucket,
            client_options={
                "allow_http": plain,
                "timeout": timedelta(seconds=patience.timeout),
                "connect_timeout": timedelta(seconds=min(5.0, patience.timeout)),
            },
            retry_config={
                "max_retries": patience.retries,
                "retry_timeout": timedelta(seconds=patience.total),
                "backoff": {"init_backoff": timedelta(seconds=patience.first_pause), "base": 2},
            },
        )
        self._checked: OrderedDict[str, _Version] = OrderedDict()
        self._lock = Lock()

    def __call__(self, name: str, content: bytes, mime: str = "") -> Artifact:
        """Store a file. Raise `OSError` if the service does not keep it."""
        if len(content) > MAX_ARTIFACT:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        artifact = artifact_of_content(name, content, mime)
        key = self._key(artifact.digest)
        fault: BaseException | None = None
        for attempt in range(_TRIES):
            fault = None
            try:
                # What is there and wrong, or old, is written anew. Old content could be garbage
                # that somebody is about to remove; what was just written never is.
                self._put(key, content, is_new=not attempt and not self._is_old(key))
            except TimelineError as error:
                fault = error
            try:
                if self._hash(key)[0] == artifact.digest:
                    return artifact
            except FileNotFoundError:
                continue
            except TimelineError as error:
                fault = fault or error
        words = str(fault) if fault else f"{self.place} did not keep what it took"
        raise OSError(errno.EIO, words) from fault

    def read(self, digest: str) -> bytes:
        """Return the content of a digest; raise `TimelineError` artifact_missing, artifact_damaged
        or store_unavailable.
        """
        content = self._load(digest, held=MAX_ARTIFACT)[1]
        assert content is not None
        return content

    def open(self, digest: str) -> OpenArtifact:
        """Return an artifact whose parts can be read; the whole was checked by then."""
        with self._lock:
            version = self._checked.get(digest)
        content = None
        if version is None:
            version, content = self._load(digest, held=_HELD)

        def part(start: int, stop: int) -> bytes:
            if content is not None:
                return content[start:stop]
            return self._part(digest, version, start, stop)

        return OpenArtifact(version.size, part)

    def check(self, digest: str) -> str | None:
        """Return the code of an artifact's fault; `None` if it is there, and correct."""
        try:
            self._load(digest, held=0)
        except TimelineError as error:
            return error.code
        return None

    def hosting(self, artifact: Artifact) -> dict[str, str]:
        """Return the location of an artifact, for the `meta` of a block; never shown to a model."""
        key = f"{artifact.digest[:2]}/{artifact.digest}"
        return {
            "hosted_uri": f"{self.place}/{key}",
            "rn": f"artifact:sha256:{artifact.digest}",
            "key": key,
        }

    def probe(self) -> None:
        """Raise `TimelineError` store_unavailable unless the service takes something."""
        self._now()

    # --- Garbage: see `callblocks.timeline.log.upkeep` ---

    def stored(self) -> Iterator[Stored]:
        """Yield every artifact, with the seconds since it was last put."""
        now = self._now()
        for path, size, modified in self._list(""):
            digest = path.rpartition("/")[2]
            if path == f"{digest[:2]}/{digest}" and is_digest(digest):
                yield Stored(digest, size, (now - modified).total_seconds())

    def buried(self) -> Iterator[Stored]:
        """Yield what lies in the trash, with the seconds since it came there."""
        now = self._now()
        for path, size, modified in self._list(_TRASH):
            digest = path.removeprefix(_TRASH)
            if is_digest(digest):
                yield Stored(digest, size, (now - modified).total_seconds())

    def bury(self, digest: str) -> None:
        """Move an artifact to the trash, from where a read still takes it."""
        self._move(self._key(digest), self._trash(digest))

    def restore(self, digest: str) -> None:
        """Take an artifact back from the trash."""
        self._move(self._trash(digest), self._key(digest))

    def purge(self, digest: str) -> None:
        """Delete an artifact that lies in the trash."""
        self._delete(self._trash(digest))

    # --- Requests ---

    def _key(self, digest: str) -> str:
        return f"{self._prefix}{digest[:2]}/{digest}"

    def _trash(self, digest: str) -> str:
        return f"{self._prefix}{_TRASH}{digest}"

    def _put(self, key: str, content: bytes, *, is_new: bool) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError, NotSupportedError, PreconditionError

        with self._faults():
            try:
                if is_new:
                    obstore.put(self._store, key, content, mode="create")
                    return
            except (AlreadyExistsError, PreconditionError):
                return
            except NotSupportedError:  # a service without conditional puts: equal bytes are written
                pass
            obstore.put(self._store, key, content, use_multipart=False)

    def _is_old(self, key: str) -> bool:
        """Return whether an object is there that may be garbage."""
        import obstore

        with self._faults():
            try:
                modified = obstore.head(self._store, key)["last_modified"]
            except FileNotFoundError:
                return False
        return not timedelta(0) <= datetime.now(UTC) - modified < _YOUNG

    def _load(self, digest: str, held: int) -> tuple[_Version, bytes | None]:
        """Hash an artifact whole; return its content as well if it is not larger than `held`."""
        if not is_digest(digest):
            raise TimelineError("artifact_missing", f"{brief(digest)} is no SHA-256 digest in hex")
        code = "artifact_missing"
        for key in (self._key(digest), self._trash(digest)):
            try:
                hashed, version, content = self._hash(key, held)
            except FileNotFoundError:
                continue
            if hashed == digest:
                # A version in the trash is not remembered: parts are read from the other place.
                if key == self._key(digest):
                    self._remember(digest, version)
                elif content is None and held:
                    self.restore(digest)
                return version, content
            code = "artifact_damaged"
        words = "has another content" if code == "artifact_damaged" else "is not there"
        raise TimelineError(code, f"artifact {digest} in {self.place} {words}", digest=digest)

    def _remember(self, digest: str, version: _Version) -> None:
        with self._lock:
            self._checked[digest] = version
            self._checked.move_to_end(digest)
            while len(self._checked) > _CHECKED:
                self._checked.popitem(last=False)

    def _hash(self, key: str, held: int = 0) -> tuple[str, _Version, bytes | None]:
        """Return the digest of an object, its version, and its content if that is small enough."""
        import obstore

        with self._faults():
            answer = obstore.get(self._store, key)
            version = _Version(answer.meta["e_tag"], answer.meta["size"])
            if version.size > MAX_ARTIFACT:
                return "", version, None
            hashed, size = hashlib.sha256(), 0
            pieces: list[bytes] = []
            for piece in answer.stream(min_chunk_size=_PIECE):
                body = bytes(piece)
                hashed.update(body)
                size += len(body)
                if version.size <= held:
                    pieces.append(body)
        if size != version.size:
            return "", version, None
        return hashed.hexdigest(), version, b"".join(pieces) if size <= held else None

    def _part(self, digest: str, version: _Version, start: int, stop: int) -> bytes:
        import obstore
        from obstore.exceptions import PreconditionError

        if start >= (stop := min(stop, version.size)):
            return b""
        key = self._key(digest)
        try:
            with self._faults():
                answer = obstore.get(
                    self._store,
                    key,
                    options={"if_match": version.etag, "range": (start, stop)},
                )
                body = bytes(answer.bytes())
                etag = answer.meta["e_tag"]
        except (PreconditionError, FileNotFoundError):
            body, etag = b"", None
        # A service that does not know the condition is noticed by the version that it names.
        if len(body) == stop - start and version.etag is not None and etag == version.etag:
            return body
        with self._lock:
            self._checked.pop(digest, None)
        return self.read(digest)[start:stop]

    def _move(self, source: str, target: str) -> None:
        import obstore

        with self._faults():
            try:
                obstore.copy(self._store, source, target)
            except FileNotFoundError:
                return
        self._delete(source)

    def _delete(self, key: str) -> None:
        import obstore

        with self._faults():
            try:
                obstore.delete(self._store, key)
            except FileNotFoundError:
                return

    def _list(self, below: str) -> Iterator[tuple[str, int, datetime]]:
        """Yield the paths below the prefix, with sizes and times."""
        import obstore

        top = f"{self._prefix}{below}"
        with self._faults():
            pages = cast("Any", obstore).list(self._store, top.rstrip("/") or None)
            for page in pages:
                for row in page:
                    if row["path"].startswith(top):
                        path = row["path"].removeprefix(self._prefix)
                        yield path, row["size"], row["last_modified"]

    def _now(self) -> datetime:
        """Return the time of the service: ages are not measured with another clock."""
        import obstore

        key = f"{self._prefix}{_CLOCK}"
        with self._faults():
            obstore.put(self._store, key, b"", use_multipart=False)
            return obstore.head(self._store, key)["last_modified"]

    @contextmanager
    def _faults(self) -> Generator[None]:
        """Raise what the service says as a `TimelineError` that names the place."""
        from obstore.exceptions import (
            AlreadyExistsError,
            BaseError,
            NotSupportedError,
            PreconditionError,
        )

        try:
            yield
        except (AlreadyExistsError, NotSupportedError, PreconditionError):
            raise
        except FileNotFoundError:
            raise
        except (BaseError, OSError) as error:
            words = " ".join(str(error).split())
            raise TimelineError("store_unavailable", f"{self.place}: {words:.300}") from error
