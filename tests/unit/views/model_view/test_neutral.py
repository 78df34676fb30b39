"""Neutral text: nothing in it opens anything, and undoing is exact."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from callblocks import dialects, parse
from callblocks.model.calls import Item
from callblocks.model.events import Text
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine import Setting
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.stage import Reading
from callblocks.views.model_view import neutral
from callblocks.views.model_view.neutral import (
    ESCAPE,
    ESCAPE_NOTE,
    is_marker,
    neutralize,
    openers,
    restore,
)
from support.corpus import texts_of
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
SIGNS = (ESCAPE, ESCAPE * 2, f"<{ESCAPE}tool>", f"\n{ESCAPE}```tool a\n", f"\n{ESCAPE}{{")
ALL = (*PARTS["auto"], *markers("auto"), *OWN, *CONTROL, *SIGNS, *COMMON)
ANY = texts(ALL) | st.text(max_size=30) | st.text(f"<tol>[{{\n `~{ESCAPE}&", max_size=30)
# The others may open a call with a bracket, where a text begins with it.
MARKED = [name for name in dialects if all(map(is_marker, dialects[name].openers(Setting())))]
READERS: list[str | list[str]] = [*MARKED, "auto", list(dialects)]
# Each text is read by every one of them, in four ways.
FEW = max(12, settings().max_examples // 10)
CORPUS = [(name, text) for name in (*dialects, "auto") for text in texts_of(name)]


def assert_prose(text: str, readers: Sequence[str | list[str]] = READERS) -> None:
    for reader in readers:
        for fenced in (True, False):
            for thought in ((), [("<think>", "</think>"), ("[THINK]", "[/THINK]")]):
                events = parse(text, reader, in_code_fences=fenced, reasoning=thought).events
                assert all(isinstance(event, Text) for event in events), (reader, events)
                assert "".join(event.text for event in events if isinstance(event, Text)) == text


@given(ANY, st.booleans())
def test_undoing_gives_the_text(text: str, fresh: bool) -> None:
    once = neutralize(text, fresh=fresh)
    twice = neutralize(once, fresh=fresh)
    assert restore(once, fresh=fresh) == text
    assert restore(twice, fresh=fresh) == once


@given(ANY)
@settings(max_examples=FEW)
@example("<tool>a()</tool>")
@example("<<tool>tool>ls()</tool>")
@example('\n```json\n[{"type":"search","operation":"o","parameters":{}}]\n```\n✂🐱\n')
def test_neutral_text_is_prose_to_every_reader(text: str) -> None:
    assert_prose(neutralize(text))


@pytest.mark.parametrize(("dialect", "text"), CORPUS)
def test_each_text_of_the_corpus_becomes_prose_and_itself_again(dialect: str, text: str) -> None:
    once = neutralize(text)
    assert restore(once) == text
    # What is no call to its own dialect, nor to any among all, is none.
    readers = [*([dialect] if dialect in MARKED else []), list(dialects)]
    assert_prose(once, readers)
    assert_prose(neutralize(once), readers)


@given(ANY)
def test_no_marker_is_left(text: str) -> None:
    found = Markers(*openers()).final.search(f"\n{neutralize(text)}\n")
    assert found is None


@given(ANY, ANY, st.sampled_from(["\n[TOOL RESULT a].result x\n", "\n[User say]: "]))
@settings(max_examples=FEW)
def test_no_marker_begins_in_one_text_and_ends_in_the_next(a: str, b: str, between: str) -> None:
    whole = neutralize(a) + between + neutralize(b, fresh=between.endswith("\n"))
    assert_prose(f"[TOOL RESULT a].result x\n{whole}")


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
    "text", ["plain words", "a < b", "x[1] = 2", "é 🛠 ✂", "1. [link](x)", "`code`", f"{ESCAPE}x"]
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert neutralize(text) == text


def test_the_sign_comes_after_the_first_character() -> None:
    assert neutralize("a <tool>") == "a <␛tool>"
    assert neutralize("🛠[ls]") == "🛠␛[ls]"


def test_a_marker_that_begins_a_line_has_the_sign_in_front() -> None:
    assert neutralize("a\r\n  ```tool x") == "a\r\n␛  ```tool x"
    assert neutralize("{}") == "␛{}"
    assert neutralize("{}", fresh=False) == "{}"


def test_markers_that_overlap_have_a_sign_each() -> None:
    assert neutralize("<<tool>") == "<<␛tool>"
    assert neutralize("[TOOL_CALLS][TOOL CALL x]", fresh=False) == "[␛TOOL_CALLS][␛TOOL CALL x]"


def test_a_text_that_has_the_sign_has_one_more() -> None:
    assert neutralize("<␛tool>") == "<␛␛tool>"
    assert neutralize("<to␛ol>") == "<␛to␛ol>"
    assert restore("<␛␛tool>") == "<␛tool>"


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
        shapes = (Shape(("[xX]", "!", "\\w")), Shape((">", ">", "\\w{1,9}", "\\n")))
        return ("@@call ", "@\n", *shapes) if setting.alone else ()

    def read(self, block: Block) -> Reading[Refused | None]:
        rest, _ = yield from block.until(Markers("\n"))
        block.started(rest or "x")
        block.ready({}, size=0)

    def compose(self, items: Sequence[Item], tools: object) -> str:
        raise NotImplementedError


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    dialect = Later()
    monkeypatch.setattr(neutral, "dialects", {**dialects, "later": dialect})
    for kept in (neutral.openers, neutral._patterns):
        kept.cache_clear()
        monkeypatch.setattr(neutral, kept.__name__, kept.__wrapped__)
    return dialect


@pytest.mark.parametrize("text", ["@@call f", "a@@call f\n", "x!y", "X!y and @@@call z"])
def test_a_dialect_that_is_added_later_is_covered(later: Later, text: str) -> None:
    assert parse(text, later).calls
    assert not parse(neutralize(text), later).calls
    assert restore(neutralize(text)) == text


@pytest.mark.parametrize("text", [">>name", "at the end @"])
def test_a_marker_is_not_completed_by_the_end_of_the_line(later: Later, text: str) -> None:
    assert parse(f"{text}\n[TOOL CALL x]", later).calls
    assert not parse(f"{neutralize(text)}\n[TOOL CALL x]", later).calls
    assert restore(neutralize(text)) == text


def test_the_search_skips_text_by_first_characters() -> None:
    pattern = neutral._patterns()[0].pattern
    firsts = re.findall(r"(?:^|\|)(\\?.)\(\?=", pattern, re.DOTALL)
    assert len(firsts) == len(set(firsts))
