from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.guard.sandbox.inputs import fault_of_path


@pytest.mark.parametrize("path", ["a", "a/b.c", "a..b", "...", "🛠/x y", "👩‍💻.txt", ".git/x", "é"])
def test_a_plain_path_may_cross(path: str) -> None:
    assert fault_of_path(path) == ""


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/..",
        "../a",
        "a/./b",
        "a\0b",
        "a\nb",
        "a\x1bb",
        "a\x7f",
        "a\x85b",
        "\udcff",
        "n" * 256,
        "é" * 128,
        "/".join(["d"] * 129),
        "/".join(["d" * 200] * 21),
    ],
)
def test_any_other_may_not(path: str) -> None:
    assert fault_of_path(path) != ""


@given(st.text())
def test_what_may_cross_stays_below_the_folder(path: str) -> None:
    if not fault_of_path(path):
        assert not path.startswith("/")
        assert ".." not in path.split("/")
        path.encode()
