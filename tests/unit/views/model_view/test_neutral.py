"""Neutral text: nothing in it opens anything, and undoing is exact."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks import dialects, parse
from callblocks.model.calls import Item
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine import Setting
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.stage import Reading
from callblocks.views.model_view import places
from callblocks.views.model_view.neutral import ESCAPE, ESCAPE_NOTE, neutralize, restore
from callblocks.views.model_view.places import openers
from support.soup import COMMON, PARTS, markers, texts

OWN = (
    *("[TOOL CALL a].call x", "[TOOL RESULT ", "[AI Agent say]: ", "[User say]: ", "[hidden; "),
    *("[tool result x]", "[ TOOL  CALL", "[folded]: ", "[damaged block 1]", "[User attachment]"),
)
CONTROL = (
    *("<think>", "</think>", "<seed:think>", "[THINK]", "[/THINK]", "◁think▷", "<|im_start|>"),
    *("<|channel|>", "<｜tool▁calls▁begin｜>", "</｜DSML｜invoke>", "<tool_call|>"),
    *("[INST]", "[/INST]"),
    *("<<SYS>>", "<</SYS>>", "[TOOL_CALLS]", "<s>", "</s>", "<start_of_turn>", "<tool_call>"),
    *("<function=f>", '<invoke name="f">', "<function_calls>", "]<]minimax[>[", "\n\nHuman:"),
)
SIGNS = (
    *(ESCAPE, ESCAPE * 2, f"<{ESCAPE}tool>", f"\n{ESCAPE}```tool a\n", f"\n{ESCAPE}{{"),
    *(f"<invoke {ESCAPE}>", f"<function={ESCAPE}>"),
)
ALL = (*PARTS["auto"], *markers("auto"), *OWN, *CONTROL, *SIGNS, *COMMON)
ANY = texts(ALL) | st.text(max_size=30) | st.text(f"<tol>[{{\n `~{ESCAPE}&", max_size=30)


@given(ANY, st.booleans())
def test_undoing_gives_the_text(text: str, fresh: bool) -> None:
    once = neutralize(text, fresh=fresh)
    twice = neutralize(once, fresh=fresh)
    assert restore(once, fresh=fresh) == text
    assert restore(twice, fresh=fresh) == once


@given(ANY)
def test_no_marker_is_left(text: str) -> None:
    found = Markers(*openers()).final.search(f"\n{neutralize(text)}\n")
    assert found is None


@given(ANY, ANY)
def test_a_whole_view_can_be_undone_at_once(a: str, b: str) -> None:
    head = "[TOOL RESULT a].result x\n"
    view = f"{head}{neutralize(a)}\n{head}{neutralize(b)}"
    assert restore(view) == f"{head}{a}\n{head}{b}"


@pytest.mark.parametrize(
    "marker", [*OWN, *CONTROL, *(one for one in openers() if isinstance(one, str))]
)
def test_every_marker_is_told(marker: str) -> None:
    assert marker not in neutralize(f"x {marker}", fresh=False)


@pytest.mark.parametrize(
    "text",
    [
        *("plain words", "a < b", "x[1] = 2", "é 🛠 ✂", "1. [link](x)", "`code`", f"{ESCAPE}x"),
        *("[link](x)", "[note]: https://a", '<a href="x">y</a>', "{x} and {{y}}", 'f({"a": 1})'),
        *("x = [1, 2]", "{name}", "{ a: 1 }", '["a", 1]!'[1:], "[x] done", "- [ ] open", "</p>"),
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert neutralize(text) == text


@pytest.mark.parametrize(
    ("text", "neutral"),
    [
        ("a <tool>", "a <␛tool>"),
        ("🛠[ls]", "🛠␛[ls]"),
        ("a\r\n  ```tool x", "a\r\n  `␛``tool x"),
        ("\nAction: ls", "\nA␛ction: ls"),
        ("to=functions.ls", "t␛o=functions.ls"),
        ("so <ls></ls> or <ls/>", "so <␛ls></ls> or <␛ls/>"),
    ],
)
def test_the_sign_comes_after_the_first_character(text: str, neutral: str) -> None:
    assert neutralize(text) == neutral


def test_a_marker_of_one_character_that_begins_a_line_has_the_sign_in_front() -> None:
    assert neutralize("a\n@ls(1): {}") == "a\n␛@ls(1): {}"
    assert neutralize("@ls(1): {}", fresh=False) == "@ls(1): {}"


@pytest.mark.parametrize(
    ("text", "neutral"),
    [
        ('x {"name": "ls", "arguments": {}}', 'x {␛"name": "ls", "arguments": {}}'),
        ('x {\n  "parameters": {}', 'x {␛\n  "parameters": {}'),
        ('x {"n\\u0061me": "ls"', 'x {␛"n\\u0061me": "ls"'),
        ("x [{'a': 1}]", "x [␛{'a': 1}]"),
        ("x [{a: 1}]", "x [␛{a: 1}]"),
        ("x [ls(a=1)]", "x [␛ls(a=1)]"),
        ("at the end {", "at the end {␛"),
        ("at the end [ \n", "at the end [␛ \n"),
    ],
)
def test_a_bracket_has_the_sign_where_a_call_could_begin_with_it(text: str, neutral: str) -> None:
    assert neutralize(text, fresh=False) == neutral


@pytest.mark.parametrize("text", ["{}", "[]", '{"a": 1}', "[1]", "[[1]]", "[true]", '["a"]'])
def test_json_that_begins_a_line_has_the_sign_in_it(text: str) -> None:
    assert neutralize(f"a\n  {text}") == f"a\n  {text[0]}␛{text[1:]}"
    assert neutralize(text, fresh=False) == text


def test_markers_that_overlap_have_a_sign_each() -> None:
    assert neutralize("<<tool>") == "<<␛tool>"
    assert neutralize("[TOOL_CALLS][TOOL CALL x]", fresh=False) == "[␛TOOL_CALLS][␛TOOL CALL x]"


def test_a_text_that_has_the_sign_has_one_more() -> None:
    assert neutralize("<␛tool>") == "<␛␛tool>"
    assert neutralize("<to␛ol>") == "<␛to␛ol>"
    assert restore("<␛␛tool>") == "<␛tool>"


@pytest.mark.parametrize("text", ["<function=␛>", "<invoke ␛␛>", "<function ␛>", "</co:␛>"])
def test_a_marker_may_hold_nothing_but_signs(text: str) -> None:
    assert neutralize(text) == f"<␛{text[1:]}"
    assert restore(neutralize(text)) == text


def test_a_text_that_was_never_neutral_is_left_alone_by_undoing() -> None:
    assert restore("<tool>") == "<tool>"
    assert restore("a ␛ b") == "a ␛ b"


def test_the_note_names_the_sign() -> None:
    assert ESCAPE in ESCAPE_NOTE


class Later(Dialect):
    """A dialect that this module has never heard of."""

    name: ClassVar = "later"
    summary: ClassVar = ""
    syntax: ClassVar = ""

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        shapes = (
            Shape(("[xX]", "!", "\\w")),
            Shape((">", ">", "\\w{1,9}", "\\n")),
            Shape(("(?=\\{)",)),
            Shape(("§",), at_line_start=True),
            Shape(("«", "«", "[^»]{1,99}", "»")),
        )
        return ("@@call ", "@\n", *shapes) if setting.alone else ()

    def read(self, block: Block) -> Reading[Refused | None]:
        rest, _ = yield from block.until(Markers("\n"))
        if (block.opening + rest).startswith(f"{{{ESCAPE}"):
            return block.refuse()
        block.started(rest or "x")
        block.ready({}, size=0)

    def compose(self, items: Sequence[Item], tools: object) -> str:
        raise NotImplementedError


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    dialect = Later()
    monkeypatch.setattr(places, "dialects", {**dialects, "later": dialect})
    for kept in (places.openers, places._patterns):
        monkeypatch.setattr(places, kept.__name__, kept.__wrapped__)
    return dialect


@pytest.mark.parametrize(
    "text", ["@@call f", "a@@call f\n", "x!y", "X!y and @@@call z", "x {f}", "§f", "««f»"]
)
def test_a_dialect_that_is_added_later_is_covered(later: Later, text: str) -> None:
    assert parse(text, later).calls
    assert not parse(neutralize(text), later).calls
    assert restore(neutralize(text)) == text


@pytest.mark.parametrize("text", [">>name", "at the end @", "at the end ««a"])
def test_a_marker_is_not_completed_by_the_end_of_the_line(later: Later, text: str) -> None:
    assert parse(f"{text}\n[TOOL CALL x]»", later).calls
    assert not parse(f"{neutralize(text)}\n[TOOL CALL x]»", later).calls
    assert restore(neutralize(text)) == text


def test_the_search_skips_text_by_first_characters() -> None:
    pattern = places._patterns()[0].pattern
    firsts = re.findall(r"(?:^|\|)(\\?.)\(\?=", pattern, re.DOTALL)
    assert len(firsts) == len(set(firsts))
