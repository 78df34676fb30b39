from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.call_text import show_call, show_result
from callblocks.views.chat.groups import (
    CallGroup,
    GroupedCall,
    Styled,
    Validation,
    draw,
    draw_lines,
    group,
    header,
)
from support.spec_drawings import COLLAPSED, EXPANDED, STREAMING


def shell(*args: str, result: str | None = None) -> GroupedCall:
    return GroupedCall(show_call("run_shell_command", {"args": list(args)})[0], result)


FIVE = CallGroup(
    [
        shell("pwd", result="/app"),
        shell("uname", "-a", result="Linux server 6.12.33 x86_64 GNU/Linux"),
        shell(
            "python3",
            "-m",
            "pip",
            "list",
            result="pip 24.0\nsetuptools 69.5.1\nwheel 0.43.0" + "\nother 1.0" * 12,
        ),
        GroupedCall(
            show_call("read_file", {"file_name": "pyproject.toml"})[0],
            show_result('[name]\nversion = "0.3.1"\n' + "x" * 2330, limit=24)[0],
        ),
        GroupedCall(
            show_call("list_files", {"kwargs": {}})[0], "pyproject.toml, uv.lock, .venv/, src/"
        ),
    ]
)
FOUR = CallGroup(
    [
        shell("pwd", result="/app"),
        shell("uname", "-a", result="Linux 6.12.33"),
        shell("python3", "--version", result="Python 3.12.12"),
        shell("make build"),
    ]
)


def test_the_collapsed_drawing() -> None:
    assert draw(FIVE, expanded=False) == [COLLAPSED]


def test_the_expanded_drawing() -> None:
    assert "\n".join(draw(FIVE)) == EXPANDED


def test_the_streaming_drawing() -> None:
    assert "\n".join(draw(FOUR)) == STREAMING


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([GroupedCall("save_file(a=1)", "ok")], "🔧 save_file (show details)"),
        ([GroupedCall("save_file(a=1)", "no", failed=True)], "🔧 save_file, failed (show details)"),
        ([GroupedCall("save_file(a=1)")], "🔧 save_file, running (show details)"),
        ([GroupedCall("a()", "x")] * 4 + [GroupedCall("b()", "y", failed=True)],
         "🔧 5 tool calls, 1 failed (show details)"),
        ([GroupedCall("a()", "x")] * 3 + [GroupedCall("make_build(x=1)")],
         "🔧 4 tool calls, running make_build (show details)"),
        ([GroupedCall("a()"), GroupedCall("b()"), GroupedCall("c()", "x")],
         "🔧 3 tool calls, running b and 1 more (show details)"),
        ([GroupedCall("a()"), GroupedCall("b()", None, failed=True)],
         "🔧 2 tool calls, 1 failed, running a (show details)"),
    ],
)  # fmt: skip
def test_the_header_says_what_is_inside(entries: list[GroupedCall], said: str) -> None:
    assert header(CallGroup(entries)) == said


def test_the_running_call_is_named_only_while_collapsed() -> None:
    assert header(FOUR) == "🔧 4 tool calls, running run_shell_command (show details)"
    assert header(FOUR, expanded=True) == "🔧 4 tool calls (hide details)"


def test_failures_are_counted_while_expanded_too() -> None:
    entries = [GroupedCall("a()", "x"), GroupedCall("b()", "y", failed=True)]
    assert header(CallGroup(entries), expanded=True) == "🔧 2 tool calls, 1 failed (hide details)"


@pytest.mark.parametrize(
    ("entry", "lines"),
    [
        (GroupedCall("f()", ""), ["  f() ✓"]),
        (GroupedCall("f()", " \n"), ["  f() ✓"]),
        (GroupedCall("f()"), ["  f() ⏳"]),
        (GroupedCall("f()", "ok\n"), ["  f() → ok"]),
        (GroupedCall("f()", "no", failed=True), ["  f() → ❌ no"]),
        (GroupedCall("f()", "", failed=True), ["  f() ❌"]),
        (GroupedCall("f()", None, failed=True), ["  f() ❌"]),
        (GroupedCall("f()", "a\nb", failed=True), ["  f()", "    ❌ a", "    b"]),
        (GroupedCall("f()", "a\n\nb"), ["  f()", "    a", "", "    b"]),
        (GroupedCall("f()", "1\n2\n3"), ["  f()", "    1", "    2", "    3"]),
        (
            GroupedCall("f()", "1\n2\n3\n4"),
            ["  f()", "    1", "    2", "    3", "    ... (1 more line)"],
        ),
        (
            GroupedCall("f()", "1\n2\n3\n4\n5… (truncated, 1.0MB)"),
            ["  f()", "    1", "    2", "    3", "    ... (truncated, 1.0MB)"],
        ),
        (
            GroupedCall("f()", "a… (truncated, 9.0KB)"),
            ["  f()", "    a", "    ... (truncated, 9.0KB)"],
        ),
        (
            GroupedCall("f()", "… (truncated, 9.0KB)", failed=True),
            ["  f()", "    ❌", "    ... (truncated, 9.0KB)"],
        ),
    ],
)
def test_an_entry_is_drawn_by_its_result(entry: GroupedCall, lines: list[str]) -> None:
    assert draw(CallGroup([entry]))[1:] == lines


def test_a_result_is_inline_while_the_entry_fits() -> None:
    fits = "x" * (80 - len("  f() → "))
    assert draw(CallGroup([GroupedCall("f()", fits)]))[1:] == [f"  f() → {fits}"]
    assert draw(CallGroup([GroupedCall("f()", fits + "x")]))[1:] == ["  f()", f"    {fits}x"]
    assert draw(CallGroup([GroupedCall("f()", fits + "x")]), width=81)[1:] == [f"  f() → {fits}x"]


def test_a_result_of_20_characters_is_always_inline() -> None:
    call = f"f({'x' * 100})"
    assert draw(CallGroup([GroupedCall(call, "y" * 20)]))[1:] == [f"  {call} → {'y' * 20}"]
    assert draw(CallGroup([GroupedCall(call, "y" * 21)]))[1:] == [f"  {call}", f"    {'y' * 21}"]


def test_blank_text_keeps_a_group_together_and_disappears() -> None:
    a, b, c = GroupedCall("a()"), GroupedCall("b()"), GroupedCall("c()")
    assert group(["Hi.", "\n\n", a, "\n", "\n\n", b, "\n", "Then", " ", c, "\n"]) == [
        "Hi.",
        "\n\n",
        CallGroup([a, b]),
        "\n",
        "Then",
        " ",
        CallGroup([c]),
        "\n",
    ]


def test_a_validation_is_never_merged() -> None:
    a, b, checked = GroupedCall("a()"), GroupedCall("b()"), Validation("fine")
    assert group([a, "\n", checked, checked, "\n", b]) == [
        CallGroup([a]),
        "\n",
        checked,
        checked,
        "\n",
        CallGroup([b]),
    ]


def test_a_validation_is_a_collapsible_of_its_own() -> None:
    checked = Validation("\nsave_file\n\ncompleted in 2 s\n")
    assert draw(checked, expanded=False) == ["✅ Validation (show details)"]
    assert draw(checked) == [
        "✅ Validation (hide details)",
        "  save_file",
        "",
        "  completed in 2 s",
    ]


def test_lines_say_what_their_parts_are() -> None:
    lines = draw_lines(CallGroup([GroupedCall("f()", "no", failed=True), GroupedCall("g()", "ok")]))
    assert lines[1] == (
        Styled("indent", "  "),
        Styled("call", "f()"),
        Styled("mark", " → "),
        Styled("error", "❌ no"),
    )
    assert [styled.kind for styled in lines[2]] == ["indent", "call", "mark", "result"]


def test_shown_text_cannot_steer_a_terminal() -> None:
    entry = GroupedCall("f(a=\x1b]0;x\x07\n)", "\x1b[31mred\x1b[0m\tx\r\x9b2J\u202e")
    assert draw(CallGroup([entry]))[1:] == ["  f(a=�]0;x� )", "    red    x", "    �2J�"]


PARTS = st.lists(
    st.one_of(
        st.sampled_from(["", " ", "\n", "prose", "more"]),
        st.builds(GroupedCall, st.text(), st.none() | st.text(), st.booleans()),
        st.builds(Validation, st.text()),
    )
)


@given(PARTS)
def test_grouping_keeps_every_part_but_blanks_in_order(
    parts: list[str | GroupedCall | Validation],
) -> None:
    flat: list[str | GroupedCall | Validation] = []
    for part in group(parts):
        flat += part.entries if isinstance(part, CallGroup) else [part]
    assert [part for part in flat if not is_blank(part)] == [
        part for part in parts if not is_blank(part)
    ]


@given(PARTS, st.booleans())
def test_every_line_is_one_line(
    parts: list[str | GroupedCall | Validation], expanded: bool
) -> None:
    for part in group(parts):
        if not isinstance(part, str):
            assert all(len(line.splitlines()) <= 1 for line in draw(part, expanded))


def is_blank(part: object) -> bool:
    return isinstance(part, str) and not part.strip()
