from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.outcomes import Artifact
from callblocks.runtime.runtime import Spilled, spill
from callblocks.timeline.artifacts.artifacts import Artifacts


@pytest.mark.parametrize("output", ["x" * 10, None, 5, {"a": 1}])
def test_what_fits_stays_as_it_is(output: Any, tmp_path: Path) -> None:
    assert spill(output, "c1", 10, Artifacts(tmp_path)) == Spilled(output)
    assert not list(tmp_path.iterdir())


def test_nothing_is_cut_where_nothing_can_be_kept() -> None:
    assert spill("x" * 100, "c1", 10, None) == Spilled("x" * 100)


def test_a_text_is_kept_as_text_and_all_else_as_json(tmp_path: Path) -> None:
    keep = Artifacts(tmp_path)
    (text,) = spill("ä" * 100, "c1", 10, keep).artifacts
    (rows,) = spill([{"n": 1}] * 100, "c2", 10, keep).artifacts
    assert (text.path[-6:], text.mime, text.size) == ("c1.txt", "text/plain", 200)
    assert (rows.path[-7:], rows.mime) == ("c2.json", "application/json")
    assert keep.read(text.digest) == ("ä" * 100).encode()
    assert msgspec.json.decode(keep.read(rows.digest)) == [{"n": 1}] * 100


@pytest.mark.parametrize(
    ("error", "words"),
    [(OSError(errno.ENOSPC, "No space left"), "No space left"), (OSError("odd"), "odd")],
)
def test_a_full_disk_leaves_the_output_whole_and_says_so(error: OSError, words: str) -> None:
    def keep(name: str, content: bytes, mime: str) -> Artifact:
        raise error

    found = spill("x" * 100, "c1", 10, keep)
    assert found.output == "x" * 100
    assert not found.artifacts
    assert [(one.code, one.message) for one in found.notices] == [
        ("not_kept", f"the whole output could not be kept: {words}")
    ]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 20))
def test_nothing_is_lost(text: str, limit: int) -> None:
    kept: list[bytes] = []

    def keep(name: str, content: bytes, mime: str) -> Artifact:
        kept.append(content)
        return Artifact(path=name, size=len(content), digest="")

    found = spill(text, "c1", limit, keep)
    if len(text) <= limit:
        assert (found.output, kept) == (text, [])
    else:
        assert kept == [text.encode()]
        assert found.output.startswith(text[:limit] + "\n... (")
