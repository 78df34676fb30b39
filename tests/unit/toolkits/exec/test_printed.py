"""What code prints, however it is cut: kept at both ends, shown in whole lines."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from callblocks.toolkits.exec.run_code import Printed
from callblocks.tools.tool import Context


def printed(pieces: list[bytes], keep: int = 80) -> tuple[dict[str, str], list[str]]:
    said: list[str] = []

    async def take() -> dict[str, str]:
        out = Printed(Context(report=said.append), keep)
        for piece in pieces:
            out.take("stdout", piece)
        out.close()
        return out.texts()

    return asyncio.run(take()), said


@given(
    st.binary(max_size=300) | st.text("a\r\né").map(str.encode),
    st.lists(st.integers(0, 300), max_size=4),
)
def test_cuts_do_not_matter_and_nothing_steers(content: bytes, cuts: list[int]):
    places = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    pieces = [content[a:b] for a, b in pairwise(places)]
    whole, _ = printed([content] if content else [])
    assert printed(pieces)[0] == whole
    text = whole.get("stdout", "")
    assert len(text) <= 40 + len("\n… 300 characters left out …\n")
    assert all(char in "\t\n" or not char < " " for char in text)


def test_text_that_fits_is_kept_as_it_is():
    assert printed(["Grüße, 世界\n".encode()])[0] == {"stdout": "Grüße, 世界\n"}


def test_a_character_that_never_ends_is_shown_as_broken():
    assert printed([b"a\xe4\xb8"])[0] == {"stdout": "a\N{REPLACEMENT CHARACTER}"}


def test_what_comes_together_is_shown_together():
    assert printed([b"one", b"\n", b"two\n"])[1] == ["one\ntwo\n"]


def test_of_many_lines_the_last_are_shown_with_how_many_there_were():
    (said,) = printed([b"x\n" * 1_000_000])[1]
    assert said.startswith("x\n")
    assert said.endswith("x\n… 1,000,000 lines, 1.9MB printed so far\n")
    assert len(said) < 100


def test_the_last_line_that_says_something_is_the_error():
    async def take() -> str:
        out = Printed(Context(), 10)
        out.take("stderr", b"Traceback\n  File\nValueError: it is wrong\n\n  \n")
        return out.last_error

    assert asyncio.run(take()) == "ValueError: it is wrong"
