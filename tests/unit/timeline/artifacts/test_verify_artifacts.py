from __future__ import annotations

from pathlib import Path

import pytest

from callblocks.core.blocks import Block
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.log.transfer import artifact_of, verify_artifacts
from support.sample_timelines import TS, entries


def naming(artifacts: Artifacts, content: bytes) -> Block:
    """A block that names a file which is kept."""
    meta = artifacts.hosting(artifacts("a.txt", content))
    return Block(type="x", author="x", turn_id="t", ts=TS, path="fi:t.files/a.txt", meta=meta)


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return Artifacts(tmp_path / "artifacts")


def test_files_that_are_there_and_right_are_fine(artifacts: Artifacts) -> None:
    block = naming(artifacts, b"one")
    assert list(verify_artifacts(entries([block, block]), artifacts)) == []


def test_a_missing_file_is_told_once_where_it_is_first_named(artifacts: Artifacts) -> None:
    fine, gone = naming(artifacts, b"one"), naming(artifacts, b"two")
    (artifacts.folder / gone.meta["key"]).unlink()
    found = list(verify_artifacts(entries([fine, gone, gone]), artifacts))
    assert [(finding.seq, finding.code) for finding in found] == [(2, "artifact_missing")]
    assert "fi:t.files/a.txt" in found[0].message


def test_a_file_with_another_content_is_told(artifacts: Artifacts) -> None:
    block = naming(artifacts, b"one")
    place = artifacts.folder / block.meta["key"]
    place.chmod(0o600)
    place.write_bytes(b"two")
    (found,) = verify_artifacts(entries([block]), artifacts)
    assert (found.seq, found.code) == (1, "artifact_damaged")


@pytest.mark.parametrize("name", [None, 3, "", "other:1", "artifact:sha256:"])
def test_what_names_no_artifact_is_passed_over(name: object) -> None:
    assert artifact_of(Block(type="x", author="x", turn_id="t", ts=TS, meta={"rn": name})) == ""


def test_a_name_that_leads_elsewhere_is_missing(artifacts: Artifacts) -> None:
    meta = {"rn": "artifact:sha256:../../etc/passwd"}
    block = Block(type="x", author="x", turn_id="t", ts=TS, meta=meta)
    (found,) = verify_artifacts(entries([block]), artifacts)
    assert found.code == "artifact_missing"


@pytest.mark.parametrize("kept", [None, "x", ["x"], [{"digest": 3}], [{}]])
def test_what_lists_no_artifact_is_passed_over(artifacts: Artifacts, kept: object) -> None:
    block = Block(type="x", author="x", turn_id="t", ts=TS, meta={"artifacts": kept})
    assert list(verify_artifacts(entries([block]), artifacts)) == []


def test_a_long_parameter_that_was_kept_is_looked_for_too(artifacts: Artifacts) -> None:
    gone = artifacts("c1.text.txt", b"long")
    meta = {"artifacts": [{"path": gone.path, "digest": gone.digest}]}
    block = Block(type="react.tool.call", author="assistant", turn_id="t", ts=TS, meta=meta)
    assert list(verify_artifacts(entries([block]), artifacts)) == []
    (artifacts.folder / gone.path).unlink()
    (found,) = verify_artifacts(entries([block]), artifacts)
    assert (found.seq, found.code) == (1, "artifact_missing")
