from __future__ import annotations

import pytest

from callblocks.parser import parse
from callblocks.views.chat.chat import Chat
from callblocks.views.rows import Row, plain
from callblocks.views.terminal.terminal import Terminal

CALLS = """Two files.

<tool>read_file(path=a.txt)
one line</tool>
<tool>read_file(path=gone.txt)
❌ no such file</tool>
<tool>wait()</tool> And
  then


this.
"""


def rows(text: str, *, expanded: bool = True, width: int = 80) -> list[Row]:
    chat = Chat()
    chat.feed(parse(text, "auto").events)
    return Terminal(expanded=expanded, width=width).draw(chat.close())


def draw(text: str, *, expanded: bool = True, width: int = 80) -> list[str]:
    return [plain(row) for row in rows(text, expanded=expanded, width=width)]


def test_a_group_stands_open_between_blank_lines() -> None:
    assert draw(CALLS) == [
        "Two files.",
        "",
        "🔧 3 tool calls, 1 failed (hide details)",
        "  read_file(path=a.txt) → one line",
        "  read_file(path=gone.txt) → ❌ no such file",
        "  wait() ⏳",
        "",
        "And",
        "  then",
        "",
        "this.",
    ]


def test_a_folded_group_is_one_row() -> None:
    assert (
        draw(CALLS, expanded=False)[2] == "🔧 3 tool calls, 1 failed, running wait (show details)"
    )


def test_a_header_says_what_its_parts_are() -> None:
    assert rows(CALLS, expanded=False)[2] == (
        ("plain", "🔧 "),
        ("name", "3 tool calls"),
        ("error", ", 1 failed"),
        ("mark", ", running wait"),
        ("quiet", " (show details)"),
    )


def test_the_name_of_a_call_cannot_pass_for_a_count() -> None:
    (header,) = rows("<tool>a, 1 failed(x)\nok</tool>", expanded=False)
    assert plain(header) == "🔧 a, 1 failed (show details)"


def test_text_that_is_no_call_stays_with_its_reason() -> None:
    assert draw("Well.\n```tool a\ninput: {\n```\n") == [
        "Well.",
        "",
        "│ ```tool a",
        "│ input: {",
        "│ ```",
        "╰ not a call, tool-fence.yaml: did not find expected node content, line 2",
    ]


def test_long_text_that_is_no_call_is_cut() -> None:
    drawn = draw("```tool a\n" + "- x\n" * 20)
    assert drawn[5] == "│ … 16 more lines"


def test_a_long_call_hangs() -> None:
    first, second = draw(f"<tool>f(a={'x ' * 20})</tool>", width=40)[1:]
    assert first.startswith("  f(a=x x")
    assert second.startswith("      x")


def test_blank_lines_in_a_code_fence_stay() -> None:
    assert draw("```\na\n\n\nb\n```\n") == ["```", "a", "", "", "b", "```"]


def test_a_copy_draws_on_without_moving_the_first() -> None:
    terminal = Terminal(expanded=True, width=80)
    terminal.draw(["one\n", "\n"])
    assert terminal.copy().draw(["two"]) == terminal.draw(["two"])


@pytest.mark.parametrize("text", ["\x1b[31mred", "<tool>a(\x1b[2J)\n\x9b1m</tool>", "\u202eabc"])
def test_nothing_steers_the_terminal(text: str) -> None:
    drawn = "".join(draw(text))
    assert not set(drawn) & set("\x1b\x9b\u202e")


@pytest.mark.parametrize(
    "line", ["▌ researcher", "  ▌ consensus", "🔧 rm(path=/) (hide details)", "so ▌ x"]
)
def test_prose_cannot_look_like_a_heading_or_a_group(line: str) -> None:
    rows = Terminal(expanded=True, width=12).draw([f"{line}\n"])
    drawn = ["".join(text for _, text in row).strip() for row in rows]
    assert not any(row.startswith(("▌", "🔧")) for row in drawn)
    assert any("\\" in row for row in drawn)


MARKDOWN = r"""# Crossing #

Low is **06:12**, *not* `06:21`. See [the tables](https://example.org/t) \*now\*.

| place | low |
|:------|----:|
| Holm | 06:12 |
| ä漢 | 6 |
- boots
  - [x] rope
> The sea
```python
f(*a)  # **kept**
```
| no | table
| a | b |
"""


def test_markdown_is_rendered_for_a_person() -> None:
    terminal = Terminal(expanded=True, width=60, rendered=True)
    drawn = [*terminal.draw(MARKDOWN.splitlines(keepends=True)), *terminal.close()]
    assert [plain(row).rstrip() for row in drawn] == [
        "Crossing",
        "",
        "Low is 06:12, not 06:21. See the tables",
        "(https://example.org/t) *now*.",
        "",
        "place    low",
        "─────  ─────",
        "Holm   06:12",
        "ä漢        6",
        "• boots",
        "  ☑ rope",
        "│ The sea",
        "python",
        "f(*a)  # **kept**",
        "| no | table",
        "| a | b |",
    ]
    assert ("strong", "06:12") in drawn[2]
    assert ("emphasis", "not") in drawn[2]


def test_a_table_that_grows_is_shown_as_far_as_it_is_there() -> None:
    terminal = Terminal(expanded=True, width=60, rendered=True)
    assert terminal.draw(["| a | b |\n", "|---|---|\n", "| 1 | 2 |\n"]) == []
    ahead = terminal.copy()
    assert [plain(row).rstrip() for row in ahead.close()] == ["a  b", "─  ─", "1  2"]
    rest = [*terminal.draw(["| 3 | 4 |\n", "end\n"]), *terminal.close()]
    assert [plain(row).rstrip() for row in rest] == ["a  b", "─  ─", "1  2", "3  4", "end"]
