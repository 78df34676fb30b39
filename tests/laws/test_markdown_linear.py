"""Twice the Markdown is twice the work, in both readers, whatever marks it is a run of.

Calls are counted, of Python and of C; and for brackets of formulas the characters that are
searched, for a search of a long text is one call. Nothing is timed.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from cProfile import Profile
from typing import Any

import pytest

from callblocks.toolkits.documents import markdown_tree as bracket_formulas
from callblocks.toolkits.documents import markdown_tree as reading
from callblocks.toolkits.documents.markdown_tree import References
from callblocks.views.html.page_markdown import markdown

LENGTH, GROWTH, EACH = 250, 2.3, 450
OPENERS = (
    *(
        "![",
        "[",
        "]",
        "[]",
        "[a](",
        "[a](<",
        "![a](",
        "[a][",
        "[a]: b\n",
        "\\(",
        "\\(a",
        "\\[\n",
        "$",
    ),
    *("$$", "$a ", "`", "`a", "``a`", "*", "**a", "_a", "a**b", "*a_", "~~a", "<", "<a ", "<!--"),
    *("&", "&#", "|", "| a |\n", "a|b\n-|-\n", "> ", "> a\n", "- ", "- a\n", "1. ", "  - a\n"),
    *("[^a]", "[^a]: b\n", "^[", "[[S:", "\\", "```\n", "a\n: b\n", "[`", "*[", "![a\n"),
)
PAIRS = (
    *(("![", "a", "](b)"), ("[", "a", "]"), ("[", "a", "](b)"), ("\\(", "a", "\\)")),
    *(("\\[\n", "a", "\n\\]"), ("$", "a", "$"), ("*", "a", "*"), ("**", "a", "*"), ("_", "a", "_")),
    *(
        ("~~", "a", "~~"),
        ("<", "a", ">"),
        ("`", "a", "``"),
        ("^[", "a", "]"),
        ("[![", "a", "](b)](c)"),
    ),
    *(("*[", "a", "](b)*"), ("[a](", "", "))"), ("[[S:", "", "]]"), ("(", "a", ")")),
)
SHAPES = [*((mark, "", "") for mark in OPENERS), *PAIRS]
SHAPES += [(opener * 8, middle + closer, "") for opener, middle, closer in PAIRS[:6]]


def document(text: str) -> None:
    reading._markdown(References(())).parse(text)


def repeated(shape: tuple[str, str, str], length: int) -> str:
    opener, middle, closer = shape
    times = length // len(opener + closer)
    return opener * times + middle + closer * times


def calls(reader: Callable[[str], object], text: str) -> int:
    profile = Profile(subcalls=False)
    profile.enable()
    try:
        reader(text)
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("reader", [markdown, document])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_of_marks_is_read_in_linear_work(
    reader: Callable[[str], object], shape: tuple[str, str, str]
) -> None:
    reader(shape[0])
    empty = calls(reader, "")
    once, twice = (calls(reader, repeated(shape, length)) for length in (LENGTH, 2 * LENGTH))
    # A nested image is read again for each level around it, and levels end at a hundred.
    first = 120_000 if shape[2].startswith("]") else 12_000
    assert twice - empty <= GROWTH * (once - empty) + first
    assert twice - empty <= EACH * 2 * LENGTH


@pytest.mark.parametrize(
    "shape",
    [
        *(("\\(", "", ""), ("\\(a", "\\)", ""), ("[\\(", "\\)", ""), ("\\(a\\)", "", "")),
        *(("\\[\n", "", ""), ("> \\[\n", "\n\\]", ""), ("\\[a\\]\n", "", ""), ("- \\[\n", "", "")),
    ],
)
def test_the_ends_of_formulas_are_searched_once(
    shape: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find = bracket_formulas._next
    searched = 0

    def counted(text: str, mark: str, start: int, known: MutableMapping[Any, int]) -> int:
        nonlocal searched
        before = dict(known)
        found = find(text, mark, start, known)
        if dict(known) != before:
            searched += (found if found >= 0 else len(text)) - start
        return found

    monkeypatch.setattr(bracket_formulas, "_next", counted)
    text = repeated(shape, 4_000)
    document(text)
    assert searched <= 3 * len(text)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("[" * 300 + "a" + "](b)" * 300 + "\n\n[b](https://a.example)", "b</a>"),
        ("[" * 12 + "[b](https://a.example)", "b</a>"),
        ("![" * 8 + " [b](https://a.example) c", "b</a> c"),
    ],
)
def test_links_beside_a_run_of_brackets_are_links(said: str, shown: str) -> None:
    assert shown in markdown(said)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (r"\(x\) and \(y\)", ["math_inline", "text", "math_inline"]),
        (r"\() \(", ["text"]),
        (r"\(\)x\)", ["math_inline"]),
        (r"a \(b", ["text"]),
    ],
)
def test_formulas_in_brackets_are_read_in_lines(text: str, kinds: list[str]) -> None:
    (_, inline, _) = reading._markdown(References(())).parse(text)
    assert [child.type for child in inline.children or []] == kinds


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\\[\nx\n\\]\nafter", [("math_block", "\nx\n")]),
        ("\\[x\\] (1)\n", [("math_block_label", "x")]),
        ("> \\[\n> x\n\n\\]", []),
        ("\\[a\n\nb", []),
    ],
)
def test_formulas_in_brackets_are_blocks(text: str, found: list[tuple[str, str]]) -> None:
    tokens = reading._markdown(References(())).parse(text)
    assert [(one.type, one.content) for one in tokens if "math" in one.type] == found
