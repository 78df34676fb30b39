"""A name stays below its folder, can be seen, and fits a disk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import BadPath
from callblocks.core.paths import MAX_LENGTH, MAX_NAMES, MAX_SEGMENT, normal_name


@pytest.mark.parametrize("name", ["a", "...", "..a", "a..b", " a", "~", "C:", "-rf", "été", "🙂"])
def test_odd_names_that_a_disk_takes_are_fine(name: str) -> None:
    assert normal_name(name, name) == name


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("/a", "absolute"),
        ("a/../../b", "leaves"),
        ("./.", "names no file"),
        ("a" * (MAX_SEGMENT + 1), "too long"),
        ("é" * 128, "too long"),
        ("a/" * (MAX_NAMES + 1), "too long"),
        ("/".join(["a" * 200] * 20), "too long"),
        ("a\tb", "control"),
        ("a\u0085b", "control"),
        ("a\u2028b", "control"),
        ("a\\b", "backslash"),
        ("\udfff", "control"),
        ("a\u200bb", "invisible"),
        ("a\u202efdp.exe", "invisible"),
        ("a ", "blank"),
        ("a /b", "blank"),
        (".. /b", "blank"),
        (" /b", "blank"),
    ],
)
def test_a_refusal_says_why(name: str, word: str) -> None:
    with pytest.raises(BadPath, match=word) as caught:
        normal_name("the text", name)
    assert caught.value.code == "unsafe_path"
    assert str(caught.value).startswith("'the text'")


@given(st.text(st.characters() | st.sampled_from("/. ")))
def test_a_normal_name_is_its_own_normal_form_and_stays_below(name: str) -> None:
    try:
        normal = normal_name(name, name)
    except BadPath:
        return
    assert normal_name(normal, normal) == normal
    assert not {"", ".", ".."} & set(normal.split("/"))
    assert len(normal.encode()) <= MAX_LENGTH + MAX_NAMES
