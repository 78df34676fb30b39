"""Neutral text: what could act has a sign, all else stays, and a copy of any part is exact."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks import ToolSpec, dialects, parse
from callblocks.core.calls import Item
from callblocks.guard.files.root import Root
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.loop import Setting
from callblocks.toolkits.standard import standard_tools
from callblocks.views.model_view import neutral as neutral_module
from callblocks.views.model_view.neutral import (
    ESCAPE,
    ESCAPE_NOTE,
    Neutral,
    neutralize,
    restore,
    restore_input,
    signed,
)
from support.soup import COMMON, PARTS, markers, texts

ROOT = Path(__file__).parents[4]
LS = ToolSpec("ls", parameters={"type": "object", "properties": {"path": {"type": "string"}}})
neutral = Neutral((LS,))
OWN = (
    *("[TOOL CALL a].call x", "[TOOL RESULT ", "[AI Agent say]: ", "[User say]: ", "[hidden; "),
    *("[tool result x]", "[ TOOL  CALL", "[folded]: ", "[damaged block 1]", "[User attachment]"),
)
CONTROL = (
    *("<think>", "</think>", "<seed:think>", "[THINK]", "[/THINK]", "◁think▷", "<|im_start|>"),
    *("<|channel|>", "<｜tool▁calls▁begin｜>", "</｜DSML｜invoke>", "<tool_call|>", '<|"|>'),
    *("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "[TOOL_CALLS]", "<start_of_turn>", "<eos>"),
    *("<tool_call>", "</tool_response>", "]<]minimax[>[", "\n\nHuman:", "\n\nAssistant:"),
)
SIGNS = (
    *(ESCAPE, ESCAPE * 2, f"<{ESCAPE}tool>", f"\n{ESCAPE}```tool a\n", f"\n{ESCAPE}{{", '"ls"'),
    *(f"<invoke {ESCAPE}>", f"<function={ESCAPE}>", f"<{ESCAPE}ls>", "<ls>", "</ls>", "\nls()\n"),
)
ALL = (*PARTS["auto"], *markers("auto"), *OWN, *CONTROL, *SIGNS * 3, *COMMON)
ANY = texts(ALL) | st.text(max_size=30) | st.text(f"<tols>[{{\n `~{ESCAPE}&\"'", max_size=30)


@given(ANY, st.booleans(), st.sampled_from([neutral, Neutral()]))
def test_every_part_that_is_copied_is_that_part(text: str, fresh: bool, way: Neutral) -> None:
    shown = way(text, fresh=fresh)
    assert restore(shown) == text
    # A copy may begin and end anywhere but within signs that stand for one.
    ends, at = [(0, 0)], 0
    for run in re.finditer(f"{ESCAPE}+|[^{ESCAPE}]", shown):
        at += len(run[0]) // 2 if ESCAPE in run[0] else 1
        ends.append((run.end(), at))
    for start, first in ends[:: len(ends) // 8 + 1]:
        for end, last in ends[:: len(ends) // 8 + 1]:
            if first < last:
                assert restore(shown[start:end]) == text[first:last]


@given(ANY)
@example("<|im_end|> a ␛ b")
def test_a_copy_without_the_signs_that_were_put_in_is_exact_too(text: str) -> None:
    shown = neutral(text)
    left_out = re.sub(f"({ESCAPE}{ESCAPE})*({ESCAPE}?)", _even, shown)
    assert restore(left_out) == text


def _even(run: re.Match[str]) -> str:
    return run[0][: len(run[0]) // 2 * 2]


SHORT = st.text(f"<tols>[{{\n `~{ESCAPE}&\"'", max_size=30)
VALUES = st.recursive(
    SHORT | st.integers(),
    lambda of: st.lists(of, max_size=3) | st.dictionaries(SHORT, of, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_an_input_is_itself_again(value: object) -> None:
    assert restore_input(neutral.input(value)) == value


@pytest.mark.parametrize("marker", [*OWN, *CONTROL])
def test_what_is_reserved_has_a_sign_whatever_tools_there_are(marker: str) -> None:
    assert marker not in neutralize(f"x {marker}", (), fresh=False)


ORDINARY = (
    *("plain words", "a < b", "x[1] = 2", "é 🛠 ✂", "1. [link](x)", "`code`", "Vec<u8>", "</p>"),
    *("[note]: https://a", '<a href="x">y</a>', "{x} and {{y}}", "- [ ] open", "<s>old</s>"),
    *("<tools><hammer/></tools>", '<invoke name="x">1</invoke>', "f <| x |> g", "a <|> b"),
    *('{"name": "Oslo", "arguments": {}}', '[{"a": 1}]', "{}", "[true]", "x = [ls_of(1)]"),
    *("```rust\nlet x: Vec<u8> = vec![];\n```", "<b>bold</b> and <i>more</i>", "usage: x [ARGS]"),
    *("<tool>rm()</tool>", "🛠[rm]🛠[/end]", "\nAction: rm\nAction Input: {}\n", "ls -l | wc"),
)


@pytest.mark.parametrize("text", ORDINARY)
def test_what_calls_no_tool_at_hand_stays_as_it_is(text: str) -> None:
    assert neutral(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <tool>ls()</tool>", "a <␛tool>ls()</tool>"),
        ("🛠[ls]🛠[/end]", "🛠␛[ls]🛠[/end]"),
        ("a\r\n  ```tool ls\n```", "a\r\n  `␛``tool ls\n```"),
        ("\nAction: ls\nAction Input: {}\n", "\nA␛ction: ls\nAction Input: {}\n"),
        ("so <ls></ls> or <rm></rm>", "so <␛ls></ls> or <rm></rm>"),
        ("\n@ls(1): {}", "\n@␛ls(1): {}"),
        ('\n{"name": "ls", "arguments": {}}', '\n{␛"name": "ls", "arguments": {}}'),
        ('\n{"n\\u0061me": "\\u006cs", "arguments": {}}', None),
        ("x [ls(path=1)]", "x [␛ls(path=1)]"),
        ("<code>ls()</code>", "<␛code>ls()</code>"),
        ('<invoke name="ls"', '<␛invoke name="ls"'),
    ],
)
def test_a_call_of_a_tool_at_hand_has_a_sign(text: str, shown: str | None) -> None:
    assert neutral(text) == shown if shown else ESCAPE in neutral(text)


def test_where_no_tools_are_known_a_call_of_any_name_acts() -> None:
    assert neutralize("<tool>rm()</tool>") == "<␛tool>rm()</tool>"
    assert neutralize("<rm></rm>") == "<␛rm></rm>"
    assert neutralize("Hello, {x}") == "Hello, {x}"


def test_a_call_that_is_left_open_is_completed_by_no_other_text() -> None:
    opened = '<function_calls>\n<invoke name="rm">\n<parameter name="a">'
    closed = f"{opened}</parameter>\n</invoke>\n</function_calls>"
    assert ESCAPE in neutral(opened)
    assert neutral(closed) == closed


@pytest.mark.parametrize("text", ["🛠️[/result 1]\nhalf", "x 🛠️[/result 1 error]"])
def test_a_result_that_is_left_open_is_no_call_where_no_call_stands_before_it(text: str) -> None:
    assert parse(text, "emoji-bracket").calls
    assert not parse(neutralize(text), "emoji-bracket").calls


def test_a_call_in_the_input_of_another_has_a_sign_too() -> None:
    inner = '{"name": "ls", "arguments": {"path": "<tool>ls()</tool>"}}'
    assert neutral(f"\n{inner}") == '\n{␛"name": "ls", "arguments": {"path": "<␛tool>ls()</tool>"}}'


def test_data_that_speaks_of_a_tool_stays_as_it_is() -> None:
    rows = [
        {"id": at, "name": "row", "what": "an \\u00e9 of ls", "a": [{"b": [1]}]} for at in range(99)
    ]
    for indent in (None, 2):
        text = json.dumps({"rows": rows}, indent=indent)
        assert neutral(text) == neutral(f"{text}\n")[:-1] == text


@pytest.mark.parametrize("opening", ['\n{"a":', "\n```tool ls\n", "\n```tool ls\n~~~\n", "\n[[{"])
def test_a_text_of_many_openings_has_a_sign_in_each_and_is_itself_again(opening: str) -> None:
    text = opening * 3000
    shown = neutral(text)
    assert len(shown) >= len(text) + 3000 - 1
    assert restore(shown) == text


def test_a_sign_of_the_text_itself_is_shown_twice() -> None:
    assert neutral("<␛tool>") == "<␛␛tool>"
    assert neutral("␛") == "␛␛"
    assert neutral("<␛ls>x</ls>") == "<␛␛ls>x</ls>"


@pytest.mark.parametrize("own", ["␛", "a ␛ b", 'x = "␛"', "␛␛␛"[:1], "the key ␛\n", "'␛'"])
def test_a_single_sign_where_none_is_put_in_is_the_models_own(own: str) -> None:
    assert restore(own) == own


def test_a_text_may_show_a_sign_where_it_has_one_or_a_prompt_format_puts_one() -> None:
    assert not signed(["plain <b>words</b>"])
    assert signed(["plain", "a ␛"])
    assert signed(["a </s> b"])
    assert signed(["a\nUser: b"])


def test_no_marker_begins_with_a_sign_or_a_quotation_mark() -> None:
    assert not any(neutral_module._openers().at(char, False) for char in f"\"'{ESCAPE}")


def test_the_note_names_the_sign() -> None:
    assert ESCAPE in ESCAPE_NOTE


def files(*patterns: str) -> list[str]:
    return [one.read_text() for pattern in patterns for one in sorted(ROOT.glob(pattern))]


COVERAGE = """<!DOCTYPE html><html><head><title>Coverage for a.py: 97%</title></head><body>
<p class="run"><span class="n"><a id="t1" href="#t1">1</a></span><span class="key">def</span>
<span class="nam">f</span><span class="op">(</span>x<span class="op">)</span>&nbsp;</p>
<pre><code class="language-json">{&quot;name&quot;: [1, 2]}</code></pre>
<s>10</s> <b>9</b> <p>{"name": "x"}</p></body></html>
"""


def test_ordinary_files_have_next_to_no_signs(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        shown = Neutral(standard_tools(root), [dialects["qwen3_coder"], dialects["emoji-bracket"]])
        for page in (*files("web/*.html", "web/src/*.css", "src/**/*.css"), COVERAGE):
            assert shown(page) == page
        code = files(
            "src/callblocks/guard/**/*.py", "src/callblocks/server/**/*.py", "web/src/*.js"
        )
        size, signs = sum(map(len, code)), sum(len(shown(one)) - len(one) for one in code)
    assert size > 400_000
    assert signs < size / 50_000


class Later(Dialect):
    """A dialect that nobody has ever heard of."""

    name: ClassVar = "later"
    summary: ClassVar = ""
    syntax: ClassVar = ""

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        shapes = (Shape(("[xX]", "!", "\\w")), Shape(("§",), at_line_start=True))
        return ("@@call ", *shapes) if setting.alone else ()

    def read(self, block: Block) -> Reading[Refused | None]:
        rest, _ = yield from block.until(Markers("\n"))
        block.started((block.opening + rest).split("!")[-1].split(" ")[-1].strip("§\n"))
        block.ready({}, size=0)

    def compose(self, items: Sequence[Item], tools: object) -> str:
        raise NotImplementedError


@pytest.mark.parametrize("text", ["@@call ls\n", "a@@call ls\n", "x!ls\n", "X!ls", "§ls\n"])
def test_a_dialect_that_is_added_later_is_covered(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    later = Later()
    monkeypatch.setattr(neutral_module, "dialects", {**dialects, "later": later})
    monkeypatch.setattr(neutral_module, "_openers", neutral_module._openers.__wrapped__)
    assert parse(text, later, tools=(LS,)).calls
    assert "ls" not in [call.name for call in parse(neutral(text), later, tools=(LS,)).calls]
    assert restore(neutral(text)) == text


@pytest.mark.parametrize("fence", ["```json", "```", "~~~", "````python"])
@pytest.mark.parametrize(
    "body",
    ['[{"tool_name": "ping", "parameters": {}}]', 'ping(a="x")', "{'tool': 'ping', 'args': {}}"],
)
def test_a_code_fence_that_is_a_call_is_none_in_neutral_text(fence: str, body: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    tools = [ToolSpec("ping", parameters=schema)]
    text = f"So:\n{fence}\n{body}\n{re.sub('[a-z]', '', fence)}\nDone."
    assert parse(text, tools=tools).calls
    shown = neutralize(text, tools)
    assert restore(shown) == text
    for around in (f"x\n{shown}\n", f"<tool_response>\n{shown}\n</tool_response>"):
        assert not parse(around, tools=tools).calls


def test_a_code_fence_that_speaks_of_a_tool_stays_as_it_is() -> None:
    text = "```rust\nlet ping: Vec<u8> = vec![];\n```\n"
    assert neutralize(text, [ToolSpec("ping")]) == text
