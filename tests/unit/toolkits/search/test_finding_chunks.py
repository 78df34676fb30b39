from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from callblocks.toolkits.search.chunks import LENGTH, MOST, Part, cut, cut_all
from callblocks.toolkits.search.query import words_of

_LONG = st.lists(
    st.sampled_from(("word", "Satz. ", "\n\n", "\n", " ", "x" * 700, "東京", "\0", "; ")),
    max_size=40,
).map("".join)


@given(st.text() | _LONG)
def test_passages_are_short_and_lose_no_sign(text: str) -> None:
    passages = list(cut(Part(text=text, line=1)))
    assert all(0 < len(passage.text) <= LENGTH for passage in passages)
    said = "".join("".join(passage.text.split()) for passage in passages)
    signs = "".join(
        " " if sign < " " or "\ud800" <= sign <= "\udfff" or sign == "\x7f" else sign
        for sign in text
    )
    assert said == "".join(signs.split())


@given(_LONG)
def test_a_passage_says_on_which_line_it_starts(text: str) -> None:
    lines = text.split("\n")
    for passage in cut(Part(text=text.replace("\0", ""), line=1)):
        first = passage.text.split("\n")[0]
        assert first.strip() in lines[passage.line - 1].replace("\0", "")


def test_paragraphs_stay_together_until_there_are_too_many() -> None:
    paragraph = "word " * 100
    passages = list(cut(Part(text="\n\n".join([paragraph.strip()] * 5), heading="H", page=3)))
    assert [len(words_of(passage.text)) for passage in passages] == [200, 200, 100]
    assert {(passage.heading, passage.page, passage.line) for passage in passages} == {("H", 3, 0)}


def test_a_long_paragraph_is_cut_at_a_sentence() -> None:
    first, second = "a" * 800 + ". ", "b" * 800
    assert [passage.text for passage in cut(Part(text=first + second))] == [first.strip(), second]


def test_a_file_has_only_so_many_passages() -> None:
    part = Part(text="x" * LENGTH)
    assert len(cut_all([part] * (MOST + 10))) == MOST


def test_a_long_part_is_cut_in_one_go() -> None:
    """Lines are counted on from the last passage: to count them all each time takes minutes."""
    text = "a |\n" * 2_000_000
    passages = cut_all([Part(text=text, line=1)])
    assert len(passages) == len(text) // LENGTH + 1
    assert [one.line for one in passages[:3]] == [1, 301, 601]
    assert passages[-1].line == 300 * (len(passages) - 1) + 1
