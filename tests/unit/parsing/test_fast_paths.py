"""Text that a fast path reads: its pieces do not matter, and its events are the usual ones."""

from __future__ import annotations

import pytest

from callblocks import ToolSpec, parse
from callblocks.core.events import CallReady, Problem, Text
from support.text_pieces import alike, read

TOOLS = (ToolSpec("ls", "", {"properties": {"a": {"type": "integer"}}}),)
HEAD = '<tool_call>\n{"name": "ls", "arguments": '


@pytest.mark.parametrize("tools", [(), TOOLS])
@pytest.mark.parametrize("dialect", ["auto", "cline", "hermes", "tool-fence"])
@pytest.mark.parametrize(
    "text",
    [
        "x <p>a</p> <p>b</p> <ls>\n<a>1</a>\n</ls> <p>c",
        "so <p>it</p> is <p>here</p> <lss>1</lss> and <p>done",
        f"x\n   <{'n' * 30}",
        "a\r\nb\r\n```tool ls\r\n```\r\n<p>\r\n",
        "x\n```python\nfrom x import y\n```\n\n```\nls(a=1)\n```\n",
        'x\n```json\n{"name": "ls", "arguments": {"a": 1}}\n```\n',
        f"x\n```{'i' * 300}\nbody\n```\ny",
        "x\n```py",
        "x\n```py\n",
        "x\n```py\n  \n",
        f'{HEAD}{{"a": {{"b": {{}}}}}}}}\n</tool_call>',
        f'{HEAD}{{"a": "{"x" * 80}"}}}}\n</tool_call>',
        f'{HEAD}{{"a": 1',
        f'{HEAD}{{"a": x}}}}\n</tool_call>',
    ],
)
def test_pieces_do_not_matter(dialect: str, text: str, tools: tuple[ToolSpec, ...]) -> None:
    whole = read(dialect, [text], tools=tools)
    for size in (1, 2, 4, 7):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert alike(read(dialect, pieces, tools=tools), whole)


def test_a_tag_that_was_prose_before_may_stand_beside_a_call() -> None:
    text = "x <p>a</p> <p>b</p> <ls>\n<a>1</a>\n</ls> <p>"
    calls = [event.call for event in read("cline", text, tools=TOOLS) if type(event) is CallReady]
    assert [(call.name, call.input) for call in calls] == [("ls", {"a": 1})]


def test_a_fence_of_prose_is_prose_beside_tools() -> None:
    text = "x\n```python\nfrom x import y\n```\n" * 3
    assert {type(event) for event in read("auto", text, tools=TOOLS)} == {Text}


def test_a_damaged_tag_is_reported_behind_tags_of_prose() -> None:
    problems = parse("x <p>a <p>b <lss>\n<ls a=1/>", "cline", tools=TOOLS).problems
    assert any(isinstance(one, Problem) and one.code == "unread-call" for one in problems)
