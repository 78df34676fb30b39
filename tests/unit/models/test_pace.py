from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from callblocks.models.scripted import paced, split_pieces

SEEN = (
    *("👩\u200d🚀", "🇩🇪", "🇩", "e\u0301", "각", "\u1100\u1161\u11a8", "क्षि", "ก็", "กำ", "\r\n"),
    *("👍🏽", "🛠️", "🏴\U000e0067\U000e007f", "\u0600", "a", " ", "\n", "```", "word", "長い文章"),
)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Well, I will look.", "Well|,| I| will| look|."),
        ("information", "informat|ion"),
        ("```tool a\n  b: 1\n```", "```|tool| a|\n  b|:| 1|\n```"),
        ("ends  ", "ends|  "),
        ("", ""),
    ],
)
def test_pieces_are_like_tokens(text: str, pieces: str) -> None:
    assert "|".join(split_pieces(text)) == pieces


@given(st.lists(st.sampled_from(SEEN) | st.text(max_size=4), max_size=30).map("".join))
def test_pieces_are_the_text_and_split_nothing_that_is_seen_as_one(text: str) -> None:
    pieces = list(split_pieces(text))
    assert "".join(pieces) == text
    assert all(pieces)
    ends, at = {0}, 0
    for seen in iter_graphemes(text):
        at += len(seen)
        ends.add(at)
    at = 0
    for piece in pieces:
        at += len(piece)
        assert at in ends


def test_a_long_text_comes_in_many_pieces() -> None:
    for text in ("word " * 200, "長" * 1000, " " * 1000, "=" * 900):
        assert len(list(split_pieces(text))) >= 20


class Clock:
    """A loop's time that only sleeping moves, and a reader that takes its time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, late: float = 0.0) -> None:
        self.now, self.late = 0.0, late
        self.slept: list[float] = []
        self._patch = monkeypatch

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def play(self, text: str, pace: float) -> list[str]:
        pieces: list[str] = []
        with self._patch.context() as patch:
            patch.setattr(asyncio, "sleep", self.sleep)
            patch.setattr(asyncio.get_running_loop(), "time", lambda: self.now)
            async for piece in paced(text, pace):
                pieces.append(piece)
                self.now += self.late
        return pieces


TEXT = "The same text is written alike each time, word by word. " * 20


def test_the_pauses_make_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pieces = asyncio.run(clock.play(TEXT, 100))
    assert "".join(pieces) == TEXT
    assert clock.now == pytest.approx(len(TEXT) / 100, rel=0.1)
    assert len(set(clock.slept)) > len(pieces) / 2


def test_the_same_text_has_the_same_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Clock(monkeypatch), Clock(monkeypatch)
    asyncio.run(first.play(TEXT, 100))
    asyncio.run(second.play(TEXT, 100))
    assert first.slept == second.slept


def test_a_reader_that_is_slow_is_not_caught_up_with(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, late=1.0)
    asyncio.run(clock.play(TEXT, 100))
    assert sum(clock.slept) == 0


def test_without_pauses_the_loop_still_gets_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pieces = asyncio.run(clock.play(TEXT, 0))
    assert set(clock.slept) == {0}
    assert len(clock.slept) == len(pieces) // 32
