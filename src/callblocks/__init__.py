"""Tool calls in what a language model writes: read, write, teach, constrain and run them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from callblocks.dialects import dialects, find_more, register_dialect

if TYPE_CHECKING:
    from callblocks.model.calls import Call, Result
    from callblocks.model.errors import ToolError
    from callblocks.model.outcomes import Failure, Outcome
    from callblocks.model.specs import ToolSpec
    from callblocks.models.endpoint import EndpointSettings
    from callblocks.models.opening import open_model
    from callblocks.parser import Parser, conversion, convert, parse
    from callblocks.parsing.limits import Limits
    from callblocks.runtime.files.root import Root
    from callblocks.runtime.policy.policy import Policy
    from callblocks.runtime.policy.rules import Rule
    from callblocks.runtime.runtime import Runtime
    from callblocks.session.session import Session
    from callblocks.session.settings import SessionSettings
    from callblocks.timeline.recorder import Recorder
    from callblocks.timeline.timeline import Timeline
    from callblocks.toolkits.react import react_tools
    from callblocks.toolkits.recording import open_recorder
    from callblocks.tools.context import Context
    from callblocks.tools.declare import tool
    from callblocks.tools.registry import Registry
    from callblocks.views.delimiter import (
        SCISSORS_CAT_DELIMITER,
        DelimiterParser,
        parse_llm_output,
        validate_tool_call,
    )
    from callblocks.views.emoji_brackets import parse_emoji_brackets
    from callblocks.views.model_view.view import ModelView
    from callblocks.views.tool_events import (
        MAX_TOOL_RESULT_DISPLAY_CHARS,
        ToolTraceEntry,
        complete_pending_tool_block,
        format_tool_combined,
        format_tool_started,
    )
    from callblocks.views.ui_stream import create_stream_chunks, parse_markdown_into_chunks

__all__ = (
    "MAX_TOOL_RESULT_DISPLAY_CHARS",
    "SCISSORS_CAT_DELIMITER",
    "Call",
    "Context",
    "DelimiterParser",
    "EndpointSettings",
    "Failure",
    "Limits",
    "ModelView",
    "Outcome",
    "Parser",
    "Policy",
    "Recorder",
    "Registry",
    "Result",
    "Root",
    "Rule",
    "Runtime",
    "Session",
    "SessionSettings",
    "Timeline",
    "ToolError",
    "ToolSpec",
    "ToolTraceEntry",
    "complete_pending_tool_block",
    "conversion",
    "convert",
    "create_stream_chunks",
    "dialects",
    "format_tool_combined",
    "format_tool_started",
    "open_model",
    "open_recorder",
    "parse",
    "parse_emoji_brackets",
    "parse_llm_output",
    "parse_markdown_into_chunks",
    "react_tools",
    "register_dialect",
    "tool",
    "validate_tool_call",
)

__version__ = "0.11.0"

_HOMES = {
    "MAX_TOOL_RESULT_DISPLAY_CHARS": "views.tool_events",
    "SCISSORS_CAT_DELIMITER": "views.delimiter",
    "Call": "model.calls",
    "Context": "tools.context",
    "DelimiterParser": "views.delimiter",
    "EndpointSettings": "models.endpoint",
    "Failure": "model.outcomes",
    "Limits": "parsing.limits",
    "ModelView": "views.model_view.view",
    "Outcome": "model.outcomes",
    "Parser": "parser",
    "Policy": "runtime.policy.policy",
    "Recorder": "timeline.recorder",
    "Registry": "tools.registry",
    "Result": "model.calls",
    "Root": "runtime.files.root",
    "Rule": "runtime.policy.rules",
    "Runtime": "runtime.runtime",
    "Session": "session.session",
    "SessionSettings": "session.settings",
    "Timeline": "timeline.timeline",
    "ToolError": "model.errors",
    "ToolSpec": "model.specs",
    "ToolTraceEntry": "views.tool_events",
    "complete_pending_tool_block": "views.tool_events",
    "conversion": "parser",
    "convert": "parser",
    "create_stream_chunks": "views.ui_stream",
    "format_tool_combined": "views.tool_events",
    "format_tool_started": "views.tool_events",
    "open_model": "models.opening",
    "open_recorder": "toolkits.recording",
    "parse": "parser",
    "parse_emoji_brackets": "views.emoji_brackets",
    "parse_llm_output": "views.delimiter",
    "parse_markdown_into_chunks": "views.ui_stream",
    "react_tools": "toolkits.react",
    "tool": "tools.declare",
    "validate_tool_call": "views.delimiter",
}

# Names that need an extra to be imported at all.
_EXTRAS = {"Session": "run", "react_tools": "run", "tool": "run"}


def _find_plugins() -> None:
    """Register the dialects that other packages ship, when one is first looked for."""
    from callblocks.plugins import register_dialects

    register_dialects()


find_more(_find_plugins)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line must start at once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from callblocks.model.extras import needing

    with needing(_EXTRAS.get(name, ""), f"{__name__}.{name}"):
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
