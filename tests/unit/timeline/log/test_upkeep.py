"""Garbage, backup and restore, on a folder, on a bucket, and on both stores."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from callblocks.core.blocks import Block
from callblocks.core.errors import TimelineError
from callblocks.timeline.artifacts.artifacts import Artifacts, ArtifactStore, Stored
from callblocks.timeline.artifacts.bucket_artifacts import open_artifacts
from callblocks.timeline.log import upkeep
from callblocks.timeline.log.log import Store
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.upkeep import back_up, collect_garbage, restore
from support.postgres import fresh_database
from support.s3_server import s3_bucket

DAY = 24 * 3600.0


def block(digest: str, text: str = "") -> Block:
    meta = {"rn": f"artifact:sha256:{digest}", "key": f"{digest[:2]}/{digest}/report.txt"}
    return Block(type="react.tool.result", author="tool", turn_id="t1", ts="", text=text, meta=meta)


@pytest.fixture
def store(tmp_path: Path) -> Generator[Store]:
    with open_store(tmp_path / "timelines.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def bucket() -> Generator[str]:
    with s3_bucket() as place:
        yield place


@pytest.fixture(params=["folder", "bucket"])
def artifacts(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    if request.param == "folder":
        return open_artifacts(tmp_path / "artifacts")
    place = request.getfixturevalue("bucket")
    return open_artifacts(f"{place}{hashlib.sha256(request.node.name.encode()).hexdigest()}")


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Make all artifacts older by so many seconds, as the listing tells it."""
    aged = [0.0]
    real = upkeep.collect_garbage

    def older(listing: Callable[[], object]) -> object:
        return [Stored(a, b, age + aged[0]) for a, b, age in listing()]  # type: ignore[attr-defined]

    class Older:
        def __init__(self, kept: ArtifactStore) -> None:
            self.kept = kept

        def __getattr__(self, name: str) -> object:
            found = getattr(self.kept, name)
            return (lambda: older(found)) if name in ("stored", "buried") else found

    def collect(stores: object, kept: ArtifactStore, *rest: object, **named: object) -> object:
        return real(stores, Older(kept), *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setitem(globals(), "collect_garbage", collect)
    return lambda seconds: aged.__setitem__(0, aged[0] + seconds)


def test_what_a_timeline_names_is_never_touched(
    store: Store, artifacts: ArtifactStore, later: Callable[[float], None]
) -> None:
    named, inside, garbage = (artifacts("a", one).digest for one in (b"1", b"2", b"3"))
    store.append("talk", [block(named), block("", f"see artifact {inside}, it is long")])
    done = collect_garbage([store], artifacts)
    assert (done.named, done.young, done.buried) == (2, 1, 0)
    later(DAY)
    assert collect_garbage([store], artifacts, act=False).buried == 1
    done = collect_garbage([store], artifacts)
    assert (done.named, done.young, done.buried) == (2, 0, 1)
    assert artifacts.read(garbage) == b"3"
    done = collect_garbage([store], artifacts)
    assert (done.purged, done.freed) == (1, 1)
    assert [artifacts.check(one) for one in (named, inside, garbage)] == [
        *(None, None),
        "artifact_missing",
    ]


def test_a_name_that_comes_late_brings_an_artifact_back(
    store: Store, artifacts: ArtifactStore, later: Callable[[float], None]
) -> None:
    digest = artifacts("a", b"late").digest
    store.append("talk", [block("", "hello")])
    later(DAY)
    assert collect_garbage([store], artifacts).buried == 1
    # Its writer had put it in the instant before, and names it now.
    store.append("talk", [block(digest)])
    done = collect_garbage([store], artifacts)
    assert (done.restored, done.purged) == (1, 0)
    assert [one.digest for one in artifacts.stored()] == [digest]


def test_content_that_is_put_again_outlives_the_copy_in_the_trash(
    store: Store, artifacts: ArtifactStore, later: Callable[[float], None]
) -> None:
    digest = artifacts("a", b"again").digest
    store.append("talk", [block("", "hello")])
    later(DAY)
    collect_garbage([store], artifacts)
    artifacts("a", b"again")
    store.append("talk", [block(digest)])
    assert collect_garbage([store], artifacts).purged == 1
    assert artifacts.read(digest) == b"again"


def test_putting_old_content_again_makes_it_young(tmp_path: Path) -> None:
    keep = Artifacts(tmp_path / "artifacts")
    artifact = keep("a", b"old")
    place = (keep.folder / artifact.path).parent
    os.utime(place, (1, 1))
    assert next(keep.stored()).age > DAY
    keep("b", b"old")
    assert next(keep.stored()).age < 3600


@pytest.mark.parametrize("fault", ["gap", "body", "end"])
def test_a_damaged_timeline_stops_the_collection(
    store: Store, tmp_path: Path, later: Callable[[float], None], fault: str
) -> None:
    keep = Artifacts(tmp_path / "artifacts")
    digest = keep("a", b"named").digest
    store.append("talk", [block("", "one"), block(digest), block("", "three")])
    changes = {
        "gap": "delete from blocks where rowid = (select rowid from blocks limit 1 offset 1)",
        "body": "update blocks set body = cast('{}' as blob)",
        "end": "delete from blocks where rowid = (select max(rowid) from blocks)",
    }
    with sqlite3.connect(tmp_path / "timelines.sqlite") as connection:
        connection.execute(changes[fault])
    later(DAY)
    with pytest.raises(TimelineError, match="nothing was touched") as raised:
        collect_garbage([store], keep)
    assert raised.value.code == "store_damaged"
    assert keep.check(digest) is None


def test_a_store_without_timelines_is_a_mistake(store: Store, tmp_path: Path) -> None:
    with pytest.raises(TimelineError, match="no timelines"):
        collect_garbage([store], Artifacts(tmp_path / "artifacts"))


# --- Backup and restore ---


def test_a_backup_is_restored_elsewhere(
    store: Store, artifacts: ArtifactStore, tmp_path: Path
) -> None:
    digest = artifacts("a.txt", b"kept").digest
    artifacts("b.txt", b"garbage")
    store.append("talk", [block(digest), block("", "x")])
    store.append("other", [block("", "y")])
    made = back_up(store, artifacts, tmp_path / "backup")
    assert (made.artifacts, made.missing, len(made.timelines)) == ([digest], {}, 2)
    assert (tmp_path / f"backup/artifacts/{digest[:2]}/{digest}/report.txt").read_bytes() == b"kept"
    target = Artifacts(tmp_path / "new")
    with fresh_database() as address, open_store(address) as copy:
        assert restore(copy, target, tmp_path / "backup") == made
        assert restore(copy, target, tmp_path / "backup") == made
        assert [(one.name, one.count, one.hash) for one in copy.names()] == [
            (one.name, one.count, one.hash) for one in store.names()
        ]
        copy.append("talk", [block("", "more")])
        with pytest.raises(TimelineError, match="with other blocks"):
            restore(copy, target, tmp_path / "backup")
    assert target.read(digest) == b"kept"


def test_a_backup_is_of_one_time_while_writers_go_on(store: Store, tmp_path: Path) -> None:
    keep = Artifacts(tmp_path / "artifacts")
    store.append("a", [block("", "1")])
    store.append("b", [block("", "1")])

    class Growing:
        """Each read of a timeline finds all of them longer."""

        def __getattr__(self, name: str) -> object:
            if name == "rows":
                for one in "ab":
                    store.append(one, [block(keep("n", b"new").digest)])
            return getattr(store, name)

    made = back_up(Growing(), keep, tmp_path / "backup")  # type: ignore[arg-type]
    assert [one.count for one in made.timelines] == [1, 1]
    assert made.artifacts == []
    with open_store(tmp_path / "copy.sqlite") as copy:
        restore(copy, keep, tmp_path / "backup")
        assert [one.count for one in copy.names()] == [1, 1]


def test_faults_are_told_and_the_rest_is_copied(store: Store, tmp_path: Path) -> None:
    keep = Artifacts(tmp_path / "artifacts")
    store.append("bad", [block("", "1"), block("", "2")])
    store.append("good", [block("0" * 64)])
    with sqlite3.connect(tmp_path / "timelines.sqlite") as connection:
        connection.execute("delete from blocks where rowid = (select min(rowid) from blocks)")
    words: list[str] = []
    made = back_up(store, keep, tmp_path / "backup", words.append)
    assert [one.is_damaged for one in made.timelines] == [True, False]
    assert made.missing == {"0" * 64: "artifact_missing"}
    assert words == ["bad: block 1 is missing", f"artifact_missing: {'0' * 64}"]
    with open_store(tmp_path / "copy.sqlite") as copy:
        restore(copy, keep, tmp_path / "backup")
        assert [one.name for one in copy.names()] == ["good"]
    with pytest.raises(TimelineError, match="holds a backup"):
        back_up(store, keep, tmp_path / "backup")


def _cut(backup: Path) -> None:
    file = backup / "timelines/talk.jsonl"
    file.write_bytes(file.read_bytes()[:-20])


def _older(backup: Path) -> None:
    manifest = json.loads((backup / "manifest.json").read_text())
    manifest["timelines"][0]["count"] = 7
    (backup / "manifest.json").write_text(json.dumps(manifest))


def _newer(backup: Path) -> None:
    text = (backup / "manifest.json").read_text().replace('"version": 1', '"version": 9')
    (backup / "manifest.json").write_text(text)


def _lost(backup: Path) -> None:
    next((backup / "artifacts").glob("*/*/*")).write_bytes(b"other")


FAULTS: dict[Callable[[Path], object], str] = {
    _cut: "bad_import",
    _older: "chain_broken",
    _newer: "newer_schema",
    _lost: "artifact_damaged",
    lambda backup: (backup / "manifest.json").unlink(): "bad_import",
    lambda backup: (backup / "manifest.json").write_text("{}"): "bad_import",
    lambda backup: (backup / "timelines/talk.jsonl").unlink(): "bad_import",
}


@pytest.mark.parametrize("damage", FAULTS)
def test_a_damaged_backup_changes_nothing(
    store: Store, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    keep = Artifacts(tmp_path / "artifacts")
    store.append("talk", [block(keep("a", b"kept").digest)])
    back_up(store, keep, tmp_path / "backup")
    damage(tmp_path / "backup")
    with open_store(tmp_path / "copy.sqlite") as copy:
        with pytest.raises(TimelineError) as fault:
            restore(copy, Artifacts(tmp_path / "new"), tmp_path / "backup")
        assert (fault.value.code, copy.names()) == (FAULTS[damage], [])
    assert not (tmp_path / "new").exists()
