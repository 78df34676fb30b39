"""The public names, and what each package may be imported for."""

from __future__ import annotations

import subprocess
import sys

import callblocks

NAMES = (
    *("MAX_TOOL_RESULT_DISPLAY_CHARS", "SCISSORS_CAT_DELIMITER", "Call", "Context"),
    *("DelimiterParser", "EndpointSettings", "Failure", "Limits", "ModelView", "Outcome", "Parser"),
    *("Policy", "Recorder", "Registry", "Result", "Root", "Rule", "Runtime", "Session"),
    *(
        "SessionSettings",
        "Timeline",
        "ToolError",
        "ToolSpec",
        "ToolTraceEntry",
        "complete_pending_tool_block",
        "conversion",
    ),
    *("convert", "create_stream_chunks", "dialects", "format_tool_combined"),
    *("format_tool_started", "open_model", "open_recorder", "parse", "parse_emoji_brackets"),
    *("parse_llm_output", "parse_markdown_into_chunks", "react_tools", "register_dialect"),
    *("tool", "validate_tool_call"),
)


def test_the_public_names_are_these() -> None:
    assert callblocks.__all__ == NAMES
    assert all(hasattr(callblocks, name) for name in NAMES)


def test_importing_the_package_imports_no_name_before_it_is_used() -> None:
    program = (
        "import sys, callblocks\n"
        "print(sorted(name for name in sys.modules if 'callblocks' in name or name == 'msgspec'))\n"
        "callblocks.SCISSORS_CAT_DELIMITER\n"
        "print('callblocks.timeline' in sys.modules, 'sqlite3' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    known, later = done.stdout.splitlines()
    dialects = [f"callblocks.dialects{name}" for name in ("", ".families", ".table")]
    core = [f"callblocks.core{name}" for name in ("", ".errors", ".text")]
    assert known == str(["callblocks", *core, *dialects])
    assert later == "False False"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    assert not hasattr(callblocks, "nothing")


def test_the_five_of_the_specifications_come_first_in_the_order_of_auto() -> None:
    assert list(callblocks.dialects)[:5] == [
        "tool-fence",
        "scissors-cat",
        "chat-blocks",
        "emoji-bracket",
        "emoji-bracket+",
    ]
    assert len(callblocks.dialects) == len(list(callblocks.dialects))
    assert "tool-fence" in repr(callblocks.dialects)
    assert all(callblocks.dialects[name].name == name for name in callblocks.dialects)
