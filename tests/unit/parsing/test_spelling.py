"""Markers are known in every spelling that a model or a wrong encoding makes of them."""

from __future__ import annotations

import pytest

from callblocks import parse
from callblocks.parsing.engine.markers import ENCODINGS, SHORTEST, damaged, spellings

MARKERS = ("🛠️", "✂️🐱")


def test_each_selector_may_lack() -> None:
    assert spellings("a\ufe0fb\ufe0f") == ("a\ufe0fb\ufe0f", "a\ufe0fb", "ab\ufe0f", "ab")
    assert spellings("a") == ("a",)


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_a_wrong_decoding_makes_is_a_damaged_spelling(marker: str, encoding: str) -> None:
    for spelling in spellings(marker):
        lost = spelling.encode().decode(encoding, "ignore")
        assert lost in damaged(marker)
        assert lost.replace("\xa0", " ") in damaged(marker)
        bare = "".join(char for char in lost if char != "\uf8ff" and not 0x7F <= ord(char) < 0xA0)
        assert bare in damaged(marker) or len(bare) < SHORTEST


@pytest.mark.parametrize("marker", MARKERS)
def test_bytes_without_a_character_may_be_kept_as_controls(marker: str) -> None:
    assert marker.encode().decode("latin-1") in damaged(marker)


@pytest.mark.parametrize("marker", MARKERS)
def test_damaged_spellings_are_long_enough_to_tell_and_hold_no_emoji(marker: str) -> None:
    assert all(len(text) >= SHORTEST and not set(text) & set(marker) for text in damaged(marker))


@pytest.mark.parametrize("marker", MARKERS)
def test_the_longest_damaged_spelling_comes_first(marker: str) -> None:
    lengths = [len(text) for text in damaged(marker)]
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize("tool", damaged("🛠️"))
def test_a_block_with_damaged_markers_is_read_and_told(tool: str) -> None:
    parsed = parse(f"{tool}[ls a]\nbody{tool}[/end]", "emoji-bracket")
    assert [(call.name, call.input) for call in parsed.calls] == [
        ("ls", {"args": "a", "body": "body"})
    ]
    assert [problem.code for problem in parsed.problems] == ["damaged-marker"] * 2


@pytest.mark.parametrize("cut", damaged("✂️🐱"))
def test_a_damaged_delimiter_counts_and_is_told(cut: str) -> None:
    parsed = parse(f"[]\n\n{cut}\n\nprose", "scissors-cat")
    assert parsed.text == "prose"
    assert [problem.code for problem in parsed.problems] == ["damaged-marker"]
