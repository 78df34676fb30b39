from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.core.errors import CallerError
from callblocks.parsing.grammar.expressions import Machine, chars, lit, many, seq, until, without
from callblocks.parsing.grammar.grammar import Grammar, Kind
from support.guidance import accepts

KINDS: tuple[Kind, ...] = ("gbnf", "lark")
TRICKY = (
    ("aab", "aba"),
    ("aaa",),
    ("abab", "bb"),
    ("🛠️[/end]", "🛠[/end]"),
    ("```", "``\n"),
)
NESTED = (("a", "baa"), ("\n", "ab\nab"))
PIECES = st.sampled_from(["a", "b", "ab", "aa", "`", "\n", "🛠", "\ufe0f", "[/end]", "[/en", "x"])
TEXTS = st.lists(PIECES, max_size=12).map("".join)


def taken(machine: Machine, text: str) -> bool:
    grammar = Grammar()
    grammar.rule("root", machine)
    said = {accepts(grammar.to(kind), kind, text) for kind in KINDS}
    assert len(said) == 1, f"the kinds do not agree on {text!r}"
    return said.pop()


def ends_at_first(text: str, ends: Sequence[str], markers: Sequence[str]) -> bool:
    """Whether what is complete first in the text is one of the ends, and ends the text."""
    words = (*ends, *markers)
    complete = [text.find(word) + len(word) for word in words if word in text]
    last = [word for word in words if text.endswith(word)]
    return bool(last) and min(complete) == len(text) and max(last, key=len) in ends


@given(st.sampled_from(TRICKY + NESTED), TEXTS)
@example(("aab", "aba"), "")
@example(("🛠️[/end]", "🛠[/end]"), "🛠🛠\ufe0f[/en🛠[/end")
def test_text_without_markers_is_what_has_none_in_it(markers: tuple[str, ...], text: str) -> None:
    assert taken(without(markers), text) == (not any(marker in text for marker in markers))


@given(st.sampled_from(TRICKY), TEXTS, st.booleans(), st.data())
def test_text_until_an_end_stops_at_the_first(
    markers: tuple[str, ...], text: str, whole: bool, data: st.DataObject
) -> None:
    ends, others = (markers, ()) if whole else (markers[:1], markers[1:])
    text += data.draw(st.sampled_from(["", *markers]))
    assert taken(until(ends, others), text) == ends_at_first(text, ends, others)


def test_a_longer_marker_that_ends_with_the_end_is_not_the_end() -> None:
    machine = until(["b"], ["ab"])
    assert taken(machine, "xb")
    assert not taken(machine, "ab")


def test_prose_and_calls_with_bodies_follow_each_other() -> None:
    grammar = Grammar()
    word = grammar.rule("word", many(chars("a-z./"), least=1))
    body = until(["🛠️[/end]"], ["🛠[/end]"])
    call = grammar.rule("call", seq(lit("ls "), word, lit("]\n"), body))
    prose = without(["🛠️["])
    grammar.rule("root", seq(many(seq(until(["🛠️["]), call)), prose))
    good = (
        "",
        "only prose, a 🛠 and a 🛠️ and [brackets]\nand lines",
        "🛠️[ls src]\n🛠️[/end]",
        "First: 🛠️[ls a/b]\nx 🛠️[ls 🛠️[/en 🛠🛠️[/end]\nthen 🛠️[ls .]\n\n🛠️[/end] done",
        "x" * 5000 + "🛠️[ls src]\n" + "🛠️[" * 1000 + "🛠️[/end]",
    )
    bad = (
        "🛠️[",
        "🛠️[rm src]\n🛠️[/end]",
        "🛠️[ls ]\n🛠️[/end]",
        "🛠️[ls src]🛠️[/end]",
        "🛠️[ls src]\nnever ends",
        "🛠️[ls src]\nwrong end 🛠[/end] 🛠️[/end]",
        "🛠️[ls src]\n🛠️[/end] and 🛠️[ again",
    )
    for kind in KINDS:
        text = grammar.to(kind)
        assert all(accepts(text, kind, one) for one in good)
        assert not any(accepts(text, kind, one) for one in bad)


def test_equal_automata_share_their_rules() -> None:
    grammar = Grammar()
    grammar.rule("root", seq(until(["<b>"]), until(["<b>"]), without(["<"])))
    assert grammar.to("gbnf").count('"b"') == 1
    assert grammar.to("lark").count('"b"') == 1


@pytest.mark.parametrize("markers", [[], [""], ["a", ""]])
def test_a_marker_is_a_text(markers: list[str]) -> None:
    with pytest.raises(CallerError, match="at least one character"):
        without(markers)


def test_an_end_that_another_marker_always_comes_before_is_refused() -> None:
    with pytest.raises(CallerError, match="never reached"):
        until(["🛠️[/end]"], ["🛠️["])
