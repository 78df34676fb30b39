"""Artifacts in a bucket, on a real S3 server."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from pathlib import Path

import obstore
import pytest

from callblocks.core.errors import TimelineError
from callblocks.timeline.artifacts import bucket_artifacts
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.artifacts.bucket_artifacts import BucketArtifacts, open_artifacts
from support.broken_s3 import Faults, broken_s3
from support.s3_server import s3_bucket

HELLO = hashlib.sha256(b"hello").hexdigest()


@pytest.fixture(scope="module")
def place() -> Generator[str]:
    with s3_bucket() as place:
        yield place


@pytest.fixture
def bucket(place: str, request: pytest.FixtureRequest) -> str:
    return f"{place}some/{hashlib.sha256(request.node.name.encode()).hexdigest()}"


@pytest.fixture
def keep(bucket: str) -> BucketArtifacts:
    return BucketArtifacts(bucket)


def test_an_address_is_a_bucket_and_a_path_is_a_folder(bucket: str, tmp_path: Path) -> None:
    assert isinstance(open_artifacts(bucket), BucketArtifacts)
    assert isinstance(open_artifacts(tmp_path), Artifacts)
    with pytest.raises(TimelineError, match="names no bucket"):
        open_artifacts("s3:///prefix")


def test_a_bucket_keeps_what_a_folder_keeps(keep: BucketArtifacts, tmp_path: Path) -> None:
    artifact = keep("turn_1/files/my report.txt", b"hello")
    assert artifact == Artifacts(tmp_path)("turn_1/files/my report.txt", b"hello")
    assert keep("b.txt", b"hello").digest == HELLO
    assert [(one.digest, one.size) for one in keep.stored()] == [(HELLO, 5)]
    assert (keep.read(HELLO), keep.check(HELLO)) == (b"hello", None)
    assert keep.hosting(artifact) == {
        "hosted_uri": f"{keep.place}/{HELLO[:2]}/{HELLO}",
        "rn": f"artifact:sha256:{HELLO}",
        "key": f"{HELLO[:2]}/{HELLO}",
    }
    assert keep("empty", b"").size == 0
    keep.probe()


def test_what_is_missing_is_missing(keep: BucketArtifacts) -> None:
    assert keep.check("0" * 64) == "artifact_missing"
    with pytest.raises(TimelineError, match="no SHA-256 digest"):
        keep.read("../../clock")


def test_content_that_was_changed_is_damaged_and_put_anew(keep: BucketArtifacts) -> None:
    keep("a", b"hello")
    obstore.put(keep._store, keep._key(HELLO), b"other")
    assert keep.check(HELLO) == "artifact_damaged"
    keep("a", b"hello")
    assert keep.read(HELLO) == b"hello"


def test_an_artifact_in_the_trash_is_read_until_it_is_purged(keep: BucketArtifacts) -> None:
    keep("a", b"hello")
    keep.bury(HELLO)
    assert (list(keep.stored()), [one.digest for one in keep.buried()]) == ([], [HELLO])
    assert keep.read(HELLO) == b"hello"
    keep.restore(HELLO)
    assert ([one.digest for one in keep.stored()], list(keep.buried())) == ([HELLO], [])
    keep.bury(HELLO)
    keep.purge(HELLO)
    keep.purge(HELLO)
    assert keep.check(HELLO) == "artifact_missing"


def test_what_is_old_is_sent_again(keep: BucketArtifacts, monkeypatch: pytest.MonkeyPatch) -> None:
    keep("a", b"hello")
    with broken_s3() as faults:
        keep = BucketArtifacts(keep.place)
        keep("a", b"hello")
        monkeypatch.setattr(bucket_artifacts, "_YOUNG", -bucket_artifacts._YOUNG)
        faults.ignores = {"if-none-match"}
        before = next(keep.stored()).age
        keep("a", b"hello")
    assert next(keep.stored()).age <= before


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setattr(bucket_artifacts, "_HELD", 1000)
    return bytes(range(256)) * 20


def test_a_part_of_a_large_artifact_is_read_alone(bucket: str, large: bytes) -> None:
    with broken_s3() as faults:
        keep = BucketArtifacts(bucket)
        digest = keep("large", large).digest
        opened = keep.open(digest)
        assert opened.size == len(large)
        del faults.requests[:]
        assert keep.open(digest).part(300, 310) == large[300:310]
        assert faults.requests == [("GET", "bytes=300-309")]
        assert opened.part(len(large) - 1, 10**9) == large[-1:]
        assert opened.part(9, 9) == b""


@pytest.mark.parametrize("ignored", [set(), {"if-match"}])
def test_no_part_is_read_of_another_version(bucket: str, large: bytes, ignored: set[str]) -> None:
    with broken_s3() as faults:
        faults.ignores = ignored
        keep = BucketArtifacts(bucket)
        digest = keep("large", large).digest
        opened = keep.open(digest)
        obstore.put(keep._store, keep._key(digest), large[::-1])
        with pytest.raises(TimelineError, match="another content"):
            opened.part(300, 310)
        obstore.put(keep._store, keep._key(digest), large)
        assert opened.part(300, 310) == large[300:310]


def test_a_large_artifact_comes_back_from_the_trash(keep: BucketArtifacts, large: bytes) -> None:
    digest = keep("large", large).digest
    keep.bury(digest)
    assert BucketArtifacts(keep.place).open(digest).part(0, 3) == large[:3]


def test_only_so_many_versions_are_remembered(
    keep: BucketArtifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_artifacts, "_CHECKED", 1)
    for content in (b"a", b"b"):
        keep.open(keep("x", content).digest)
    assert len(keep._checked) == 1


def _quick(bucket: str) -> BucketArtifacts:
    patience = bucket_artifacts.Patience(timeout=5, retries=2, total=10, first_pause=0.001)
    return BucketArtifacts(bucket, patience)


@pytest.fixture
def faults(bucket: str) -> Generator[Faults]:
    with broken_s3() as broken:
        yield broken


def test_errors_of_a_service_are_retried(bucket: str, faults: Faults) -> None:
    keep = _quick(bucket)
    faults.answers = [503, 500]
    keep("a", b"hello")
    faults.answers = [500, 503]
    assert keep.read(HELLO) == b"hello"


def test_retries_end(bucket: str, faults: Faults) -> None:
    keep = _quick(bucket)
    keep("a", b"hello")
    del faults.requests[:]
    faults.answers = [503] * 100
    with pytest.raises(TimelineError) as fault:
        keep.read(HELLO)
    assert (fault.value.code, len(faults.requests)) == ("store_unavailable", 3)
    assert keep.check(HELLO) == "store_unavailable"
    with pytest.raises(OSError, match="s3://"):
        keep("b", b"other")
    with pytest.raises(TimelineError):
        keep.probe()
    assert len(faults.requests) < 30


def test_a_put_whose_answer_fails_counts_if_its_content_is_there(
    bucket: str, faults: Faults
) -> None:
    keep = _quick(bucket)
    keep("a", b"hello")
    # The look for an old object, and then the put, fail; the reading back does not.
    faults.answers = [500] * 3
    assert keep("a", b"hello").digest == HELLO


@pytest.mark.parametrize("fault", ["lies", "cuts"])
def test_a_put_that_was_not_done_is_noticed(bucket: str, faults: Faults, fault: str) -> None:
    keep = _quick(bucket)
    setattr(faults, fault, 1)
    assert keep.read(keep("a", b"hello").digest) == b"hello"
    setattr(faults, fault, 9)
    with pytest.raises(OSError, match="did not keep"):
        keep("b", b"a second one")


def test_a_service_that_is_not_there_is_told(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(TimelineError) as fault:
        _quick(bucket).read(HELLO)
    assert fault.value.code == "store_unavailable"
