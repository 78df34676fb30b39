from __future__ import annotations

import pytest

from callblocks.core.errors import Unsupported
from callblocks.dialects import dialects
from callblocks.dialects.tool_fence import ToolFence
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.views.terminal.tables import about_tool, tool_table
from support.terminal_rows import EVIL, harmless, lines


@tool(read_only=True)
def look(path: str, depth: int = 2) -> str:
    """Look at a folder.

    It is only looked at.

    Args:
        path: the folder
        depth: how many levels
    """
    return path


@tool(destructive=False, needs_approval=True, timeout=30, body="text")
def say(text: str, tone: str | None = None) -> None:
    """Say something."""


@tool(destructive=False)
def rest() -> None:
    """Rest."""


def test_each_tool_has_its_traits_parameters_and_purpose() -> None:
    assert lines(tool_table([look, say, rest], 100)) == [
        "look  read_only, idempotent  path, depth?",
        "  Look at a folder.",
        "say   plain                  text, tone?",
        "  Say something.",
        "rest  plain",
        "  Rest.",
    ]
    assert tool_table([], 80) == []


def test_all_about_a_tool() -> None:
    rows = lines(about_tool(look, [dialects["tool-fence"], dialects["emoji-bracket"]], 100))
    assert rows[:4] == [
        "look  read_only, idempotent",
        "  Look at a folder.",
        "",
        "  It is only looked at.",
    ]
    start = rows.index("Parameters")
    assert rows[start + 1 : start + 3] == [
        "  path   string  the folder",
        "  depth  integer, default 2  how many levels",
    ]
    assert '    "type": "object",' in rows
    assert "Example  tool-fence" in rows
    assert "  ```tool look c1" in rows or any("```tool look" in row for row in rows)
    assert "Example  emoji-bracket" in rows


def test_examples_come_before_the_schema_and_one_that_is_alike_once() -> None:
    named = [dialects[name] for name in ("tool-fence", "emoji-bracket", "emoji-bracket+")]
    rows = lines(about_tool(look, named, 100))
    titles = [row for row in rows if row.startswith(("Parameters", "Example", "Schema"))]
    assert titles == [
        "Parameters",
        "Example  tool-fence",
        "Example  emoji-bracket, emoji-bracket+",
        "Schema",
    ]


def test_what_a_person_should_know_is_said() -> None:
    rows = lines(about_tool(say, [], 100))
    assert "  stopped after 30 s" in rows
    assert "  a person must approve each call" in rows
    assert "  a block's body is its text" in rows
    assert "  tone  string | null, default null" in rows
    assert "  none" in lines(about_tool(rest, [], 100))


def test_a_tool_that_is_only_described_cannot_run_here() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", 1, None]},
            "size": {"type": ["integer", "null"]},
            "any": {},
            "free": True,
            "one": {"oneOf": [{"type": "string"}, {"enum": [2]}]},
        },
        "required": ["kind"],
    }
    (known,) = Registry.from_json([{"name": "far", "parameters": schema}]).tools
    rows = lines(about_tool(known, [], 100))
    assert "  it cannot run here" in rows
    start = rows.index("Parameters")
    assert rows[start + 1 : start + 6] == [
        '  kind  "a" | 1 | null',
        "  size  integer | null, optional",
        "  any   any, optional",
        "  free  any, optional",
        "  one   string | 2, optional",
    ]


class Silent(ToolFence):
    """A dialect that shows nothing."""

    def example(self, tools: object) -> str:
        raise Unsupported("it has no examples")


def test_a_dialect_that_writes_no_example_says_so() -> None:
    rows = lines(about_tool(look, [Silent()], 100))
    assert rows[rows.index("Example  tool-fence") + 1] == "  it has no examples"


@pytest.mark.parametrize("width", [40, 100])
def test_nothing_in_a_description_steers_the_terminal(width: int) -> None:
    schema = {
        "type": "object",
        "properties": {
            f"p{EVIL}": {"type": "string", "description": EVIL, "default": EVIL},
            "e": {"enum": [EVIL]},
        },
    }
    entry = {"name": "far", "description": f"a\n{EVIL}", "parameters": schema}
    (known,) = Registry.from_json([entry]).tools
    assert harmless(tool_table([known], width))
    assert harmless(about_tool(known, [dialects["tool-fence"]], width))
