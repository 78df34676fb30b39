from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import CallerError
from callblocks.parsing.grammar.expressions import (
    EMPTY,
    Chars,
    Expr,
    alt,
    chars,
    lit,
    many,
    none_of,
    opt,
    repeat,
    seq,
    until,
    without,
)
from callblocks.parsing.grammar.grammar import Calls, Grammar, Kind
from support.guidance import accepts

KINDS: tuple[Kind, ...] = ("gbnf", "lark")
HARD = "\"\\[]^-&~/|(){}*+?.,:#%<>=' \t\r\n\x00\x7f\x85\xa0é\u0301\u200d\ufe0f\ufeff🛠\U000e0100"


def taken(expr: Expr, text: str) -> bool:
    """Whether a grammar of this expression takes the text; both kinds must agree."""
    grammar = Grammar()
    grammar.rule("root", expr)
    said = {accepts(grammar.to(kind), kind, text) for kind in KINDS}
    assert len(said) == 1, f"the kinds do not agree on {text!r}"
    return said.pop()


def test_rules_are_printed_as_each_notation_writes_them() -> None:
    grammar = Grammar()
    word = grammar.rule("a word", many(chars("a-z_-"), least=1))
    grammar.rule("root", seq(lit("<\ufe0f"), alt(word, lit('"')), repeat(word, 2, 3), lit("\n")))
    assert grammar.to("gbnf") == (
        'root ::= "<\\uFE0F" (a-word | "\\"") a-word{2,3} "\\n"\na-word ::= [a-z_\\x2D]+\n'
    )
    assert grammar.to("lark") == (
        "%llguidance {}\n"
        'start: "<" /\\x{FE0F}/ (a_word | "\\"") a_word{2,3} /\\x{A}/\n'
        "a_word: /[a-z\\x{5F}\\x{2D}]/+\n"
    )


@given(st.text(HARD, min_size=1, max_size=6), st.text(HARD, max_size=6))
def test_a_literal_is_itself_and_nothing_else(text: str, other: str) -> None:
    assert taken(lit(text), text)
    assert taken(lit(text), other) == (text == other)


@given(st.lists(st.sampled_from(HARD + "az"), min_size=1, max_size=6), st.sampled_from(HARD + "mq"))
def test_a_class_takes_its_characters_and_a_negated_one_all_others(
    found: list[str], char: str
) -> None:
    ranges = tuple((one, one) for one in found)
    assert taken(Chars(ranges), char) == (char in found)
    assert taken(Chars(ranges, negated=True), char) == (char not in found)


@pytest.mark.parametrize(
    ("spec", "inside", "outside"),
    [
        ("a-z", "amz", "`{-A"),
        ("a-", "a-", "bz"),
        ("-a", "a-", "bz"),
        ("+--", "+,-", ".*"),
        ("🛠-🛢", "🛠🛡🛢", "🛣a"),
    ],
)
def test_a_class_is_written_as_in_brackets(spec: str, inside: str, outside: str) -> None:
    assert all(taken(chars(spec), char) for char in inside)
    assert not any(taken(chars(spec), char) for char in outside)
    assert all(taken(none_of(spec), char) for char in outside)
    assert not any(taken(none_of(spec), char) for char in inside)


@pytest.mark.parametrize(
    ("expr", "least", "most"),
    [
        (many(lit("ab")), 0, 9),
        (many(lit("ab"), least=1), 1, 9),
        (many(lit("ab"), least=2), 2, 9),
        (opt(lit("ab")), 0, 1),
        (repeat(lit("ab"), 2, 2), 2, 2),
        (repeat(lit("ab"), 1, 1), 1, 1),
        (repeat(lit("ab"), 0, 0), 0, 0),
        (repeat(lit("ab"), 1, 3), 1, 3),
        (repeat(opt(lit("ab")), 1, 2), 0, 2),
        (repeat(alt(lit("a"), lit("ab"), lit("b")), 2, 4), 1, 4),
    ],
)
def test_a_repetition_keeps_its_bounds(expr: Expr, least: int, most: int) -> None:
    for times in range(6):
        assert taken(expr, "ab" * times) == (least <= times <= most)


def test_empty_parts_and_nested_choices_are_no_trouble() -> None:
    expr = seq(lit(""), alt(lit("a"), alt(EMPTY, seq(lit("b"), seq(lit("c"))))), EMPTY)
    assert [taken(expr, text) for text in ("", "a", "bc", "b", "abc")] == [True] * 3 + [False] * 2


def test_a_literal_that_competes_with_single_characters_is_still_found() -> None:
    expr = seq(alt(lit("abcd"), many(none_of("x"))), opt(lit("x")))
    assert taken(expr, "abcd")
    assert taken(expr, "abce")
    assert taken(expr, "abcdx")
    assert not taken(expr, "abxd")


def test_a_rule_may_need_itself() -> None:
    grammar = Grammar()
    tree = grammar.reserve("tree")
    grammar.define(tree, seq(lit("("), many(tree), lit(")")))
    grammar.rule("root", tree)
    for kind in KINDS:
        assert accepts(grammar.to(kind), kind, "(()(()))")
        assert not accepts(grammar.to(kind), kind, "(()(())")


def test_a_shared_rule_is_built_once_and_may_ask_for_itself() -> None:
    grammar = Grammar()
    built: list[str] = []

    def build() -> Expr:
        built.append("pair")
        return alt(lit("x"), seq(lit("("), grammar.once("pair", build), lit(")")))

    assert grammar.once("pair", build) == grammar.once("pair", build)
    grammar.rule("root", grammar.once("pair", build))
    assert built == ["pair"]
    assert accepts(grammar.to("lark"), "lark", "((x))")


def test_names_are_put_into_letters_that_both_allow_and_never_collide() -> None:
    grammar = Grammar()
    names = ["Read File", "read_file", "read-file-2", "start", "Root", "7z", "🛠", "root-m1"]
    refs = [grammar.rule(name, lit(str(at))) for at, name in enumerate(names)]
    grammar.rule("root", seq(without(["!"]), lit("!"), *refs))
    assert len({ref.name for ref in refs}) == len(names)
    for kind in KINDS:
        assert accepts(grammar.to(kind), kind, "so: !01234567")
        assert not accepts(grammar.to(kind), kind, "so: !01234576")


def _of(expr: Expr, name: str = "root") -> Grammar:
    grammar = Grammar()
    grammar.rule(name, expr)
    return grammar


def test_an_unknown_kind_is_refused_with_the_choices() -> None:
    unknown: Any = "ebnf"
    with pytest.raises(CallerError, match="'ebnf'; choose from: gbnf, lark, structural_tag"):
        _of(lit("x")).to(unknown)


def test_a_grammar_without_a_root_or_with_two_is_refused() -> None:
    with pytest.raises(CallerError, match="needs a rule named root"):
        _of(lit("x"), "other").to("gbnf")
    with pytest.raises(CallerError, match="a root already"):
        _of(lit("x")).rule("root", lit("y"))


def test_a_reserved_rule_must_be_defined() -> None:
    grammar = Grammar()
    grammar.rule("root", grammar.reserve("later"))
    with pytest.raises(CallerError, match="not defined: later"):
        grammar.to("lark")


@pytest.mark.parametrize(
    "expr",
    [
        many(opt(lit("x"))),
        many(EMPTY),
        seq(lit("a"), opt(many(alt(lit("b"), without(["x"]))))),
        many(seq(opt(lit("a")), repeat(lit("b"), 0, 2)), least=1),
    ],
)
def test_an_open_repetition_of_what_may_be_empty_is_refused(expr: Expr) -> None:
    with pytest.raises(CallerError, match="repeats without end what may be empty"):
        _of(expr).to("gbnf")


def test_a_rule_that_begins_with_itself_is_refused() -> None:
    grammar = Grammar()
    one, two = grammar.reserve("one"), grammar.reserve("two")
    grammar.define(one, alt(lit("x"), seq(opt(lit("y")), two)))
    grammar.define(two, seq(repeat(one, 1, 2), lit("z")))
    grammar.rule("root", seq(lit("a"), until(["b"]), one))
    with pytest.raises(CallerError, match="comes back to itself before any text"):
        grammar.to("lark")


@pytest.mark.parametrize("build", [lambda: chars(""), lambda: chars("z-a"), alt])
def test_a_class_or_a_choice_of_nothing_is_refused(build: Any) -> None:
    with pytest.raises(CallerError):
        build()


@pytest.mark.parametrize(("least", "most"), [(-1, 2), (3, 2)])
def test_bounds_that_cannot_be_kept_are_refused(least: int, most: int) -> None:
    with pytest.raises(CallerError, match="cannot repeat"):
        repeat(lit("x"), least, most)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(CallerError, match="half a character"):
        _of(lit("\ud83d")).to("gbnf")


@pytest.mark.parametrize("calls", ["any", "required", "one"])
@pytest.mark.parametrize(
    "block",
    [
        lit("<a>"),
        alt(lit("<a>"), seq(lit("<a"), lit(">"))),
        seq(alt(lit("<a>"), lit("<a>?")), opt(lit("!"))),
        seq(many(lit("<"), least=1), lit("a>")),
    ],
)
def test_prose_and_blocks_of_any_form_are_a_structural_tag(block: Expr, calls: Calls) -> None:
    grammar = Grammar(calls)
    grammar.text(["<a>"], grammar.rule("block", block))
    for text, count in (("so", 0), ("so <a>", 1), ("<a> and <a> so", 2)):
        wanted = {"any": True, "required": count > 0, "one": count == 1}[calls]
        for kind in (*KINDS, "structural_tag"):
            assert accepts(grammar.to(kind), kind, text) == wanted


def test_looking_at_how_many_calls_are_demanded_counts_none() -> None:
    grammar = Grammar("one")
    grammar.rule("root", lit("x"))
    assert grammar.calls == "one"
    grammar.to("structural_tag")
    assert not grammar.counts_calls


@pytest.mark.parametrize(
    "count",
    [
        lambda grammar: grammar.row(lit("x")),
        lambda grammar: grammar.repeated(lit("x")),
        lambda grammar: grammar.text(["<"], lit("<x>")),
    ],
    ids=["row", "repeated", "text"],
)
@pytest.mark.parametrize("calls", ["any", "required", "one"])
def test_each_rule_of_repeated_calls_counts_them(count: Any, calls: Any) -> None:
    grammar = Grammar(calls)
    count(grammar)
    assert grammar.counts_calls
