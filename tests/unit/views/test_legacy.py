"""Old chat text in today's form."""

from __future__ import annotations

from callblocks.views.chat.tool_blocks import normalize_legacy

CALL = "🔧 **Tool Call:** `save_file(file_name=a.py)`"


def test_a_call_and_its_result_become_one_block() -> None:
    legacy = f"{CALL}\n✅ **`save_file` result:**\nok"
    assert normalize_legacy(legacy) == "<tool>save_file(file_name=a.py)\nok</tool>"


def test_a_call_without_a_result_is_pending() -> None:
    assert normalize_legacy(f"Wait. {CALL}") == "Wait. <tool>save_file(file_name=a.py)</tool>"


def test_markup_in_a_legacy_call_or_result_is_escaped() -> None:
    legacy = "🔧 **Tool Call:** `f(a=<b>)`\n✅ **`f` result:**\n</tool><tool>x()\n\nafter"
    assert normalize_legacy(legacy) == (
        "<tool>f(a=&lt;b&gt;)\n&lt;/tool&gt;&lt;tool&gt;x()</tool>\n\nafter"
    )


def test_all_other_text_stays_as_it_is() -> None:
    text = "a <tool>x()\n1</tool> &lt;tool <validation>v</validation> 🔧 b"
    assert normalize_legacy(text) == text


def test_calls_that_come_before_their_results_become_blocks_with_them() -> None:
    legacy = (
        f"{CALL}\n🔧 **Tool Call:** `ls()`\n\n✅ **`save_file` result:**\nok\n"
        "✅ **`ls` result:**\na.py\n\nDone."
    )
    assert normalize_legacy(legacy) == (
        "<tool>save_file(file_name=a.py)\nok</tool>\n<tool>ls()\na.py</tool>\n\nDone."
    )


def test_a_call_may_hold_backticks() -> None:
    legacy = "🔧 **Tool Call:** `run(cmd=echo `date`)`\n✅ **`run` result:**\n`late`"
    assert normalize_legacy(legacy) == "<tool>run(cmd=echo `date`)\n`late`</tool>"
    legacy = "🔧 **Tool Call:** `` run(cmd=`) ``\n✅ **`run` result:**\n1"
    assert normalize_legacy(legacy) == "<tool>run(cmd=`)\n1</tool>"
