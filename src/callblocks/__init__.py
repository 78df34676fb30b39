"""Tool calls in what a language model writes: read, write, teach, constrain and run them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from callblocks.dialects import dialects, find_more, register_dialect

if TYPE_CHECKING:
    from callblocks.core.calls import Call, Result
    from callblocks.core.errors import ToolError
    from callblocks.core.outcomes import Failure, Outcome
    from callblocks.core.specs import ToolSpec
    from callblocks.guard.files.root import Root
    from callblocks.models.open_model import open_model
    from callblocks.models.openai.endpoint import EndpointSettings
    from callblocks.parser import Parser, conversion, convert, parse
    from callblocks.parsing.limits import Limits
    from callblocks.policy.policy import Policy
    from callblocks.policy.rules import Rule
    from callblocks.runtime.runtime import Runtime
    from callblocks.session.model_choice import SessionSettings
    from callblocks.session.session import Session
    from callblocks.timeline.recorder import Recorder
    from callblocks.timeline.timeline import Timeline
    from callblocks.toolkits.react_tools import react_tools
    from callblocks.toolkits.turn_files import open_recorder
    from callblocks.tools.declare import tool
    from callblocks.tools.registry import Registry
    from callblocks.tools.tool import Context
    from callblocks.views.chat.tool_blocks import (
        MAX_TOOL_RESULT_DISPLAY_CHARS,
        ToolTraceEntry,
        complete_pending_tool_block,
        format_tool_combined,
        format_tool_started,
    )
    from callblocks.views.model_view.view import ModelView
    from callblocks.views.text.spec_functions import (
        SCISSORS_CAT_DELIMITER,
        DelimiterParser,
        create_stream_chunks,
        parse_emoji_brackets,
        parse_llm_output,
        parse_markdown_into_chunks,
        validate_tool_call,
    )

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
    "MAX_TOOL_RESULT_DISPLAY_CHARS": "views.chat.tool_blocks",
    "SCISSORS_CAT_DELIMITER": "views.text.spec_functions",
    "Call": "core.calls",
    "Context": "tools.tool",
    "DelimiterParser": "views.text.spec_functions",
    "EndpointSettings": "models.openai.endpoint",
    "Failure": "core.outcomes",
    "Limits": "parsing.limits",
    "ModelView": "views.model_view.view",
    "Outcome": "core.outcomes",
    "Parser": "parser",
    "Policy": "policy.policy",
    "Recorder": "timeline.recorder",
    "Registry": "tools.registry",
    "Result": "core.calls",
    "Root": "guard.files.root",
    "Rule": "policy.rules",
    "Runtime": "runtime.runtime",
    "Session": "session.session",
    "SessionSettings": "session.model_choice",
    "Timeline": "timeline.timeline",
    "ToolError": "core.errors",
    "ToolSpec": "core.specs",
    "ToolTraceEntry": "views.chat.tool_blocks",
    "complete_pending_tool_block": "views.chat.tool_blocks",
    "conversion": "parser",
    "convert": "parser",
    "create_stream_chunks": "views.text.spec_functions",
    "format_tool_combined": "views.chat.tool_blocks",
    "format_tool_started": "views.chat.tool_blocks",
    "open_model": "models.open_model",
    "open_recorder": "toolkits.turn_files",
    "parse": "parser",
    "parse_emoji_brackets": "views.text.spec_functions",
    "parse_llm_output": "views.text.spec_functions",
    "parse_markdown_into_chunks": "views.text.spec_functions",
    "react_tools": "toolkits.react_tools",
    "tool": "tools.declare",
    "validate_tool_call": "views.text.spec_functions",
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
    from callblocks.core.extras import needing

    with needing(_EXTRAS.get(name, ""), f"{__name__}.{name}"):
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
