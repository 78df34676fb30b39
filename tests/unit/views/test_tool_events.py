from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.core.call_text import escape_prose, unescape_call, unescape_result
from callblocks.views.chat.tool_blocks import (
    MAX_TOOL_RESULT_DISPLAY_CHARS,
    MAX_TRACE_ENTRIES,
    MAX_TRACE_RESULT_CHARS,
    ToolTrace,
    ToolTraceEntry,
    complete_pending_tool_block,
    format_tool_combined,
    format_tool_started,
)

TEXT = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            ["<tool>", "</tool>", '<tool id="', '">', "&lt;", "\n", "❌ ", "@", "(", "a"]
        )
    ).map("".join),
)
BLOCK = re.compile(r'<tool(?: id="[^"<>]*")?>([^<]*)</tool>')
PAST_THE_TAGS = re.compile(r"</?tool", re.IGNORECASE)


def test_a_started_call_is_a_pending_block() -> None:
    block, trace = format_tool_started("run_shell_command", {"args": ["make build"]})
    assert block == "\n\n<tool>run_shell_command(args=[&quot;make build&quot;])</tool>\n"
    assert trace == ToolTraceEntry(
        type="tool_call_started",
        tool_name="run_shell_command",
        args_preview='args=["make build"]',
    )


def test_a_combined_block_has_the_call_and_its_result() -> None:
    block, trace = format_tool_combined("save_file", {"file_name": "a.py"}, "ok")
    assert block == "\n\n<tool>save_file(file_name=a.py)\nok</tool>\n"
    assert trace == ToolTraceEntry(
        type="tool_call_completed",
        tool_name="save_file",
        args_preview="file_name=a.py",
        result_preview="ok",
    )


@pytest.mark.parametrize("result", [None, ""])
def test_an_empty_result_completes_a_block_with_a_line_break(result: object) -> None:
    block, trace = format_tool_combined("now", {}, result)
    assert block == "\n\n<tool>now()\n</tool>\n"
    assert trace.args_preview is None
    assert trace.result_preview is None
    assert complete_pending_tool_block("<tool>now()</tool>", "now", result)[0] == (
        "<tool>now()\n</tool>"
    )


def test_a_pending_block_receives_its_result() -> None:
    pending, _ = format_tool_started("save_file", {"file_name": "a.py"})
    text, trace = complete_pending_tool_block(f"Saving.{pending}Wait", "save_file", "ok")
    assert text == "Saving.\n\n<tool>save_file(file_name=a.py)\nok</tool>\nWait"
    assert trace == ToolTraceEntry(
        type="tool_call_completed", tool_name="save_file", result_preview="ok"
    )


def test_the_last_pending_block_of_the_tool_is_completed() -> None:
    text = "<tool>f(a=1)</tool><tool>f(a=2)</tool><tool>f(a=3)\ndone</tool><tool>g()</tool>"
    assert complete_pending_tool_block(text, "f", "ok")[0] == (
        "<tool>f(a=1)</tool><tool>f(a=2)\nok</tool><tool>f(a=3)\ndone</tool><tool>g()</tool>"
    )


def test_a_pending_block_may_be_the_name_alone() -> None:
    text = "<tool>f(a=1)</tool><tool>f</tool>"
    assert complete_pending_tool_block(text, "f", "ok")[0] == (
        "<tool>f(a=1)</tool><tool>f\nok</tool>"
    )


def test_a_name_is_not_the_start_of_another() -> None:
    text = "<tool>read_file(path=a)</tool>"
    assert complete_pending_tool_block(text, "read", "ok")[0] == text + "<tool>read\nok</tool>\n"


def test_a_name_with_a_parenthesis_is_not_another_tools_call() -> None:
    pending, _ = format_tool_started("f(x)", {"a": 1})
    assert pending == "\n\n<tool>f&#40;x)(a=1)</tool>\n"
    assert complete_pending_tool_block(pending, "f", "ok")[0] == pending + "<tool>f\nok</tool>\n"
    assert complete_pending_tool_block(pending, "f(x)", "ok")[0] == (
        "\n\n<tool>f&#40;x)(a=1)\nok</tool>\n"
    )


@pytest.mark.parametrize(
    ("result", "appended"), [("ok", "<tool>f\nok</tool>\n"), ("", "<tool>f\n</tool>\n")]
)
def test_without_a_pending_block_one_is_appended(result: str, appended: str) -> None:
    assert complete_pending_tool_block("Hello.", "f", result)[0] == "Hello." + appended


def test_an_unfinished_block_is_not_pending() -> None:
    assert complete_pending_tool_block("<tool>f(", "f", "ok")[0] == "<tool>f(<tool>f\nok</tool>\n"


def test_an_id_is_part_of_the_tag() -> None:
    assert format_tool_started("f", {}, 'a"b<@')[0] == (
        '\n\n<tool id="a&quot;b&lt;&#64;">f()</tool>\n'
    )
    assert format_tool_combined("f", {}, 1, "c1")[0] == '\n\n<tool id="c1">f()\n1</tool>\n'


def test_completion_goes_by_id_only() -> None:
    text = '<tool id="c1">f()</tool><tool>f()</tool>'
    assert complete_pending_tool_block(text, "f", "ok", "c2")[0] == (
        text + '<tool id="c2">f\nok</tool>\n'
    )
    assert complete_pending_tool_block(text, "f", "ok", "c1")[0] == (
        '<tool id="c1">f()\nok</tool><tool>f()</tool>'
    )
    assert complete_pending_tool_block('<tool id="c1">f()</tool>', "f", "ok")[0] == (
        '<tool id="c1">f()</tool><tool>f\nok</tool>\n'
    )


def test_an_error_is_shown_as_a_failed_result() -> None:
    block, trace = format_tool_combined("f", {}, None, error="no <such> file")
    assert block == "\n\n<tool>f()\n❌ no &lt;such&gt; file</tool>\n"
    assert (trace.type, trace.result_preview) == ("tool_call_failed", "no <such> file")
    assert complete_pending_tool_block("<tool>f()</tool>", "f", None, error="")[0] == (
        "<tool>f()\n❌ </tool>"
    )


def test_results_are_escaped_and_mention_nobody() -> None:
    block, _ = format_tool_combined("f", {"to": "@room"}, '<b> @me & "you" ❌')
    assert block == (
        "\n\n<tool>f(to=@\u200broom)\n&lt;b&gt; @\u200bme &amp; &quot;you&quot; ❌</tool>\n"
    )


def test_a_long_result_is_cut_in_the_chat_and_less_in_the_trace() -> None:
    block, trace = format_tool_combined("f", {}, "<" * 5000)
    assert block == (
        f"\n\n<tool>f()\n{'&lt;' * MAX_TOOL_RESULT_DISPLAY_CHARS}… (truncated, 4.9KB)</tool>\n"
    )
    assert trace.truncated
    assert trace.result_preview == "<" * MAX_TRACE_RESULT_CHARS + "… (truncated, 4.9KB)"


def test_cut_arguments_are_noted_in_the_trace() -> None:
    assert format_tool_started("f", {"a": "x" * 300})[1].truncated
    assert format_tool_combined("f", {"a": "x" * 300}, "ok")[1].truncated


def test_a_trace_keeps_the_last_120_entries() -> None:
    started = [ToolTraceEntry(type="tool_call_started", tool_name=str(at)) for at in range(125)]
    trace = ToolTrace(started[:3])
    for entry in started[3:]:
        trace.append(entry)
    assert trace.entries == started[-MAX_TRACE_ENTRIES:]
    assert trace.dropped == 5


@given(TEXT, TEXT, TEXT, TEXT, st.none() | TEXT)
def test_no_strings_forge_a_block(
    prose: str, name: str, value: str, result: str, id: str | None
) -> None:
    block, _ = format_tool_combined(name, {"a": value}, result, id)
    text = escape_prose(prose) + block + escape_prose(prose)
    assert len(BLOCK.findall(text)) == 1
    assert len(PAST_THE_TAGS.findall(text)) == 2


@given(TEXT, TEXT, TEXT, st.none() | TEXT, st.booleans())
@example("f", "", "❌ fine", None, False)
def test_completing_a_block_equals_writing_it_at_once(
    name: str, value: str, result: str, id: str | None, failed: bool
) -> None:
    error = result if failed else None
    pending, _ = format_tool_started(name, {"a": value}, id)
    completed, _ = complete_pending_tool_block(pending, name, result, id, error=error)
    assert completed == format_tool_combined(name, {"a": value}, result, id, error=error)[0]
    call, _, shown = BLOCK.findall(completed)[0].partition("\n")
    assert unescape_call(call)[0] == name.replace("\r", " ").replace("\n", " ")
    assert unescape_result(shown)[1] == failed


@given(
    st.lists(TEXT, min_size=2, max_size=4, unique=True),
    st.randoms(use_true_random=False),
)
def test_calls_of_one_tool_never_swap_results(ids: list[str], random: object) -> None:
    text = "".join(format_tool_started("f", {"at": at}, id)[0] for at, id in enumerate(ids))
    order = list(enumerate(ids))
    random.shuffle(order)  # pyright: ignore[reportAttributeAccessIssue]
    for at, id in order:
        text, _ = complete_pending_tool_block(text, "f", f"result {at}", id)
    assert BLOCK.findall(text) == [f"f(at={at})\nresult {at}" for at in range(len(ids))]


def test_the_limits_of_a_trace_are_those_of_the_format() -> None:
    assert (MAX_TOOL_RESULT_DISPLAY_CHARS, MAX_TRACE_RESULT_CHARS, MAX_TRACE_ENTRIES) == (
        500,
        4_000,
        120,
    )
