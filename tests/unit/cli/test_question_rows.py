"""The question that a person is asked at the terminal, row by row."""

from __future__ import annotations

from typing import Any

import msgspec

from callblocks.approvals.question import Question
from callblocks.cli.terminal.ask import choice_rows, default_rows, question_rows
from callblocks.tools.declare import tool
from support.terminal_rows import EVIL, harmless, lines
from support.tool_runtime import call


@tool
def write(path: str, content: str = "") -> None:
    """Write."""


@tool(destructive=False)
def sing() -> None:
    """Sing."""


def question(preview: str = "", **input: Any) -> Question:
    return Question(
        call=call("write", **input),
        tool=write,
        approval_id="1",
        reason="no rule names this call",
        preview=preview,
    )


CHANGE = "--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new\n"


def test_what_it_would_change_comes_first_and_then_every_argument_as_it_is() -> None:
    asked = question(CHANGE, path="a", content="one\ntwo", n=[1])
    assert lines(question_rows(asked, 80)) == [
        "",
        "write wants to run: no rule names this call",
        "  destructive",
        "  │ --- a",
        "  │ +++ a",
        "  │ @@ -1 +1 @@",
        "  │ -old",
        "  │ +new",
        "  path     a",
        "  content  one",
        "           two",
        "  n        [1]",
    ]


def test_what_is_long_comes_last() -> None:
    shown = lines(question_rows(question(CHANGE, content="1\n2\n3\n4", path="a"), 80))
    assert shown[3].startswith("  │ ")
    assert shown[8:] == [
        "  path     a",
        *("  content  1", "           2", "           3", "           4"),
    ]


def test_what_is_not_given_is_apart_with_its_default() -> None:
    @tool
    def fetch(url: str, method: str = "GET", tries: int = 3, body: str | None = None) -> None:
        """Fetch."""

    asked = Question(
        call=call("fetch", url="u", tries=1), tool=fetch, approval_id="1", reason="why"
    )
    assert lines(question_rows(asked, 80))[3:] == ["  url    u", "  tries  1"]
    assert lines(default_rows(asked, 80)) == [
        "  method  GET  (default)",
        "  body    null  (default)",
    ]


def test_it_says_where_text_of_others_came_from() -> None:
    def said(*sources: str) -> list[str]:
        asked = msgspec.structs.replace(question(path="a"), tainted=sources)
        return lines(question_rows(asked, 80))[3:-1]

    assert said() == []
    assert said("gmail_read") == ["  Its input may come from gmail_read, which nobody checked."]
    assert said("a", "b", f"c{EVIL}")[0].startswith("  Its input may come from a, b and c␛[2J")


def test_no_line_of_a_preview_can_look_like_an_argument() -> None:
    fake = "Dear all\n  path     harmless\n  y once\n" + "x" * 100
    shown = lines(question_rows(question(fake, path="a"), 80))
    assert shown[-1] == "  path  a"
    assert all(line.startswith("  │ ") for line in shown[3:-1])


def test_the_choices_say_what_is_not_shown() -> None:
    assert lines(choice_rows("write", 100)) == [
        "  y once   n no   n WHY no, and why   5 10 30 minutes, any write"
    ]
    assert lines(choice_rows("write", 100, defaults=2))[0].endswith("v show the defaults")
    assert lines(choice_rows("write", 100, more=1, defaults=2)) == [
        "  n no   n WHY no, and why   v show 1 more line, before you can say yes"
    ]


def test_a_name_that_is_long_moves_no_other() -> None:
    shown = lines(question_rows(question(**{"path": "a", "k" * 30: "b"}), 80))
    assert shown[3:5] == [f"  path{' ' * 14}a", f"  {'k' * 30}  b"]


def test_nothing_in_a_value_is_out_of_sight() -> None:
    hidden = "ls" + " " * 200 + ";" + "\n" * 40 + "rm\u200b \u3164x"
    shown = lines(question_rows(question(f"+{hidden}", path=hidden), 80))
    assert shown[3:] == [
        "  │ +ls⟨200 blanks⟩;",
        "  │ ⟨39 empty lines⟩",
        "  │ rm⟨U+200B⟩ ⟨U+3164⟩x",
        "  path  ls⟨200 blanks⟩;",
        "        ⟨39 empty lines⟩",
        "        rm⟨U+200B⟩ ⟨U+3164⟩x",
    ]


def test_a_change_has_its_colours() -> None:
    rows = question_rows(question("@@\n-old\n+new\n same"), 80)
    assert [row[1][0] for row in rows[-4:]] == ["quiet", "error", "code", "plain"]


def test_a_tool_without_traits_has_no_line_for_them() -> None:
    asked = Question(call=call("sing"), tool=sing, approval_id="1", reason="why")
    assert lines(question_rows(asked, 80)) == ["", "sing wants to run: why"]


def test_no_value_can_look_like_the_question() -> None:
    fake = "x\n  y once   n no\nRun write(path=harmless)? \n  path  harmless"
    shown = lines(question_rows(question(path=fake), 80))
    assert shown[3] == "  path  x"
    assert all(line.startswith("        ") for line in shown[4:])


def test_nothing_in_a_question_steers_the_terminal() -> None:
    asked = question(f"{EVIL}\n+{EVIL}", **{"path": EVIL * 30, f"k{EVIL}": {"a": EVIL}})
    assert harmless(question_rows(asked, 60))
    assert all(len(line) <= 60 for line in lines(question_rows(asked, 60)))
