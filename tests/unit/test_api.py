"""The public names, and what each package may be imported for."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import callblocks
from callblocks import parsing

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

AUTHORS_NAMES = [
    *("TURN_ENDS", "ArgKeyValue", "Block", "Bodies", "BraceCalls", "Call", "CallRow"),
    *("CommandCalls", "Dialect", "ElementBodies", "Expr", "Framed", "FunctionTags"),
    *("Grammar", "Head", "Input", "Item", "JsonCalls", "JsonScan", "Keys", "Limits"),
    *("Markers", "NamedJson", "NamedTags", "PythonMarked", "PythonRow", "PythonRowReader"),
    *("PythonScan", "Reading", "Refused", "Result", "ScanState", "Setting", "Shape", "Tag"),
    *("Thought", "ToolSpec", "Unwritable", "XmlForm", "XmlParameters", "XmlTags", "alt"),
    *("chars", "damaged", "in_schema_order", "input_lines", "input_rule", "lit", "many"),
    *("none_of", "opt", "read_arguments", "read_id", "read_json", "repeat", "seq"),
    *("spellings", "until", "without", "write_json"),
]
"""What the author of a dialect imports from `callblocks.parsing`."""


def test_the_public_names_are_these() -> None:
    assert callblocks.__all__ == NAMES
    assert all(hasattr(callblocks, name) for name in NAMES)


def test_the_names_for_authors_of_dialects_are_these() -> None:
    assert list(parsing.__all__) == AUTHORS_NAMES
    assert all(hasattr(parsing, name) for name in AUTHORS_NAMES)
    assert not hasattr(parsing, "nothing")


def test_importing_the_names_for_authors_imports_none_before_it_is_used() -> None:
    program = (
        "import sys\nfrom callblocks.parsing import Call\n"
        "print(*(name for name in sys.modules if name.startswith('callblocks.parsing')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["callblocks.parsing"]


def test_dialects_that_need_only_those_names_import_them_from_one_place() -> None:
    for path in (Path(callblocks.__file__).parent / "dialects").glob("*.py"):
        modules: dict[str, list[str]] = {}
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("callblocks."):
                modules[str(node.module)] = [alias.name for alias in node.names]
        names = {name for imported in modules.values() for name in imported}
        if modules and names <= {*AUTHORS_NAMES}:
            assert [*modules] == ["callblocks.parsing"], path.name


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
