"""Law 5: twice the text is twice the work, whatever the text and its pieces.

Work is counted (`support.work_counter`), never timed. The shapes are those that would hurt: many
openings without an end, candidates inside candidates, long runs of what a marker may begin with.
"""

from __future__ import annotations

import pytest

from callblocks import ToolSpec, dialects, parse
from callblocks.parsing.engine import unread
from callblocks.parsing.shapes.json_calls import JsonCalls
from support.corpus import texts_of
from support.sampling import sample
from support.soup import markers
from support.text_pieces import NAMES, cut
from support.work_counter import work

GROWTH = 2.2
LENGTH = 1000
PIECES = 1, 4, 0
CALL = '{"type":"search","id":"a","operation":"","parameters":{}}'
LEGACY = "🔧 **Tool Call:** `a`"
ROW = "{'name': 'a', 'arguments': {}},"
RESULT = "✅ **`a` result:**"

# What comes first, what is repeated, what comes last.
SHAPES = {
    "tool-fence": (
        ("", "```tool a\n", ""),
        ("", "```tool\n", ""),
        ("", "```\n", ""),
        ("", "```x\n", ""),
        ("", "~~~tool\n```\n", ""),
        ("", "`", ""),
        ("", "\n   ", ""),
        ("", "```tool a a\n```\n", ""),
        ("", "```tool a\nx: &a\n```\n", ""),
        ("```tool a\n", "``", ""),
        ("```tool a\n", "\n```x", ""),
        ("```tool a\n", "k: v\n", "```\n"),
        ("```tool a\nk: |\n", "  x\n", "```\n"),
        ("```tool a\nk: ", "[", "\n```\n"),
        ("```tool a\nk: ", '"\\', "\n```\n"),
        ("```tool ", "a ", "\n```\n"),
        ("```tool ", "'", "\n```\n"),
    ),
    "scissors-cat": (
        ("", "[\n", ""),
        ("", "[x\n", ""),
        ("", "✂️", ""),
        ("", "✂️🐱", ""),
        ("", "\n ", ""),
        ("", "```json\n", ""),
        ("", "```\n[x\n", ""),
        ("\n", " ", ""),
        ("\n```\n", " \n", ""),
        ("a", "✂️🐱", ""),
        ("a\n", "[\n", "1]\n✂️🐱"),
        ("a\n", "[\n", "]x✂️🐱"),
        ("a\n", "[x\n", "✂️🐱"),
        ("a\n", "[1]\n{}\n", ""),
        ("a\n", "a\n[1]\n", ""),
        ("a\n", '{"a":\n', "[1]\n✂️🐱"),
        ("[{x\n", "[x\n", "✂️🐱"),
        ("[{x\n", "[{x\n", ""),
        ("[{x\n", "[1]\n", "✂️🐱"),
        ("[{x\n", "[\n", "1]✂️🐱"),
        ("[{x", " \n", "✂️🐱"),
        ("[", f"{CALL},", "1]✂️🐱"),
        ("[", "1,", "1]✂️🐱"),
        ("[", "[", "✂️🐱"),
        ("[1]", " \n", "x"),
        ('["', "\\\\", '"]✂️🐱'),
    ),
    "chat-blocks": (
        ("", "<", ""),
        ("", "<tool>", ""),
        ("", "<tool>a\n", ""),
        ("", "<tool>a\n</tool", ""),
        ("", "<tool>a(\nb<x", ""),
        ("", "<tool>a()\nok</tool>", ""),
        ("", '<tool id="', ""),
        ("", '<tool id="a">', ""),
        ("", "<validation>", "</validation>"),
        ("", "<validation></validation>", ""),
        ("", "&amp;", ""),
        ("", "&amp;amp;lt;", ""),
        ("&", "amp;", ""),
        ("&", "amp;", "lt;tool"),
        ("&#128295;", " ", ""),
        ("<tool>a(", "&", ")</tool>"),
        ("<tool>a(\n", "x", ""),
        ("", "🔧 **Tool Call:** `", ""),
        ("", LEGACY, ""),
        ("", f"{LEGACY}\n", RESULT),
        ("", "🔧 **Tool Call:** `f(`", ""),
        ("🔧 **Tool Call:** `f((", ")`(", "\n"),
        ("🔧 **Tool Call:** ``f(", "` ```", "\n"),
        ("", f"{LEGACY}✅ **`", ""),
        ("", f"{LEGACY} {RESULT}", ""),
        ("", f"{LEGACY}\n{RESULT}\nx\n\n", ""),
        (f"{LEGACY}\n{RESULT}\n", "x\n", ""),
    ),
    "emoji-bracket": (
        ("", "🛠️", ""),
        ("", "🛠️[", ""),
        ("", "🛠️[\n", ""),
        ("", "🛠️[]", ""),
        ("", "🛠️[/end]", ""),
        ("", "🛠️[a]", ""),
        ("", "🛠️[a]🛠️[/end]", ""),
        ("", "ð", ""),
        ("", "🛠️[a /]", ""),
        ("🛠️[a]", "🛠️[/end", ""),
        ("🛠️[a]", "🛠️[\\/end]", "🛠️[/end]"),
        ("🛠️[a]🛠️[", "\\", "/end]🛠️[/end]"),
        ("🛠️[a]🛠️[/end]", "🛠️[/result 1]", ""),
        ("🛠️[a]🛠️[/end]", "🛠️[/result 1]x🛠️[/end]", ""),
        ("🛠️[a]🛠️[/end]🛠️[/result 1 json]", "[", "🛠️[/end]"),
        ("🛠️[a ", "'", "]🛠️[/end]"),
        ("🛠️[a ", "b ", "]🛠️[/end]"),
        ("🛠️[", " ", "]"),
    ),
}
SHAPES["emoji-bracket+"] = SHAPES["emoji-bracket"]
SHAPES["lfm2"] = (
    ("", "<|tool_call_start|>[ls(", ""),
    ("", "<|tool_call_start|>[ls() x", ""),
    ("", "<|tool_call_start|>[ls(x='a", ""),
    ("<|tool_call_start|>[", "ls(x=[a]),", "]<|tool_call_end|>"),
    ("<|tool_call_start|>[", "ls() ", "]<|tool_call_end|>"),
    ("<|tool_call_start|>[ls(a=", "[", ""),
    ("<|tool_call_start|>[ls(a='", "\\\\", "')]<|tool_call_end|>"),
    ("<|tool_call_start|>[ls(a='", "', a='", "')]<|tool_call_end|>"),
    ("<|tool_call_start|>[ls(a='x'", " 'y' ", ")]<|tool_call_end|>"),
)
SHAPES["pythonic"] = (
    ("", "[ls(", ""),
    ("x", "[ls(x=1", ""),
    ("x", "[f(x=1)]", ""),
    ("[", "ls() ", ""),
    ("", "<|python_start|>[ls() x", ""),
)
SHAPES["gemma4"] = (
    ("", "<|tool_call>call:ls{", ""),
    ("<|tool_call>call:ls{a:", "[1,", ""),
    ("<|tool_call>call:ls{", "a:{", ""),
    ("<|tool_call>call:ls{a:", '<|"|><|"|>', "}<tool_call|>"),
    ("", "<|channel>thought", ""),
)
SHAPES["gpt_oss"] = (
    ("", "<|channel|>final ", ""),
    ("", "<|channel|>final x<|channel|>final ", ""),
    ("", "<|channel|>commentary to=functions.ls<|message|>{", ""),
    ("<|channel|>", "to=functions.ls ", ""),
    ("<|channel|>", "y<|channel|>final", "<|message|>"),
    ("", "<|start|>user<|message|>x", ""),
)
SHAPES["react_text"] = (
    ("", "\nAction: ls\n", ""),
    ("", "\nAction: ls\nAction Input: {", ""),
    ("", "\nAction: ls\nAction Input: {}\nObservation: x", ""),
    ("Action: ls\nAction Input: ```\n", "`", "x"),
    ("Action: ls\nAction Input: {", "'a':", "\nObservation:"),
    ("", '\nAction: ls\nAction Input: {"a": 1\nObservation: x', ""),
)
SHAPES["gptme"] = (
    ("", "\n@ls(a): {bad ", ""),
    ("", '\n@ls(a): {"a": [1\n\nx {', ""),
    ("", "\n@ls(a): {'a': 1}\nx", ""),
    ("", "\n```ls a\n", ""),
)
SHAPES["functionary_v32"] = (
    ("", ">>>ls\n{", ""),
    ("all\n", "ls\n", ""),
    (">>>python\n", ">>>", ""),
)
SHAPES["smolagents_code"] = (
    ("", "<code>ls(", ""),
    ("<code>", "ls()\n", "x</code>"),
    ("", "\n```py\nls(\n```\n", ""),
)
SHAPES["auto"] = (
    ("", "<|im_end|> ", "x"),
    ("", "<co>x ", ""),
    ("", '\n@ls(a): {"a": [1,\n{', ""),
    *(
        shape
        for name in ("tool-fence", "scissors-cat", "chat-blocks")
        for shape in SHAPES[name][::4]
    ),
)


# Code fences, where a tool is declared.
TOOLS = (ToolSpec("ls", "", {"properties": {"a": {"type": "integer"}}}),)
FENCES = (
    ("", "\n```\nls(a=1)\n```", ""),
    ("", "\n```\nls(a=1)\nx\n```", ""),
    ("", "\n```\nls(a=1)\n", ""),
    ("\n```", "\nls(a=1)", "\nx\n```"),
    ("\n```\n", '{"name": "ls", "arguments": {"a": 1}}\n', "x"),
    ("\n```\n", '{"name": "ls", "arguments": {"a": 1}},', "\n```"),
    ("\n```\n[", '{"name": "ls", "args": {}},', ""),
    ("", '\n```\n{"name": "ls", "arguments": {"a": ', ""),
    ("", "\n```\n{'name': 'ls', ", ""),
    ("\n````\n", "```\nls(a=1)\n```\n", "````"),
    ("\n~~~\n<tool_call>", "\n```", ""),
)

# Names of tools in prose, which are looked for when the text is over.
UNREAD = (
    ("", "ls ", ""),
    ("", "ls(", ""),
    ("", "<|call|>ls", ""),
    ("", '"name": "ls" ', ""),
    ("", "`ls` ", ""),
    ("", "`<|a|>` ls\n", ""),
    ("", "<code>ls(\n", ""),
    ("", "<ls>", ""),
    ("", "```\nls(\n", ""),
    ("", "```tol ls\n```\n", ""),
    ("<think>", "<|call|>ls ", ""),
)


def shapes(dialect: str) -> tuple[tuple[str, str, str], ...]:
    """The shapes that could hurt; of a dialect that names none, its markers and first cases."""
    own = [*markers(dialect), *filter(None, texts_of(dialect)[:6])]
    return SHAPES.get(dialect) or (*(("", text, "") for text in own), *rows(dialect))


def rows(dialect: str) -> tuple[tuple[str, str, str], ...]:
    """Many calls in one row that has to be repaired."""
    known = dialects.get(dialect)
    opening = known.opening[0] if isinstance(known, JsonCalls) else ""
    return tuple((f"{opening}{bracket}", ROW, "") for bracket in ("[", "") if opening)


@pytest.mark.parametrize("piece", PIECES, ids=["by one", "by four", "whole"])
@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.no_cover  # the corpus walks every way
def test_twice_the_text_is_twice_the_work(dialect: str, piece: int) -> None:
    # Of each three shapes one is read by one, another by four, and the third whole.
    for first, repeated, last in sample(shapes(dialect), of=3, seed=PIECES.index(piece)):
        times = LENGTH // len(repeated)
        texts = [first + repeated * count + last for count in (times, 2 * times)]
        once, twice = (
            work(dialect, cut(text, range(piece, len(text), piece) if piece else ()))
            for text in texts
        )
        assert twice <= GROWTH * once, (first, repeated, last)


@pytest.mark.parametrize("piece", [1, 0], ids=["by one", "whole"])
@pytest.mark.no_cover  # the corpus walks every way
def test_twice_the_fences_are_twice_the_work(piece: int) -> None:
    for first, repeated, last in FENCES:
        times = LENGTH // len(repeated)
        texts = [first + repeated * count + last for count in (times, 2 * times)]
        once, twice = (
            work("auto", cut(text, range(piece, len(text), piece) if piece else ()), tools=TOOLS)
            for text in texts
        )
        assert twice <= GROWTH * once, (first, repeated, last)


@pytest.mark.parametrize("piece", [1, 0], ids=["by one", "whole"])
@pytest.mark.no_cover  # the corpus walks every way
def test_twice_the_names_in_prose_are_twice_the_work(piece: int) -> None:
    for first, repeated, last in UNREAD:
        times = LENGTH // len(repeated)
        texts = [first + repeated * count + last for count in (times, 2 * times)]
        once, twice = (
            work("auto", cut(text, range(piece, len(text), piece) if piece else ()), tools=TOOLS)
            for text in texts
        )
        assert twice <= GROWTH * once, (first, repeated, last)


def test_the_end_of_a_reported_call_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Work does not count what a compiled pattern searches.
    class Counted:
        searched = 0

        def search(self, text: str, at: int) -> None:
            self.searched += len(text) - at

    counted = Counted()
    monkeypatch.setattr(unread, "_SEPARATOR", counted)
    text = '{"name": "ls", ' * 500
    problems = parse(text, "auto", tools=TOOLS).problems
    assert len(problems) > 100
    assert counted.searched <= len(text)
