"""Tool calls in what a language model writes: read, write, teach, constrain and run them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from callblocks.dialects import dialects

if TYPE_CHECKING:
    from callblocks.model.calls import Call, Result
    from callblocks.model.errors import ToolError
    from callblocks.model.outcomes import Failure, Outcome
    from callblocks.model.specs import ToolSpec
    from callblocks.parser import Parser, conversion, convert, parse
    from callblocks.parsing.limits import Limits
    from callblocks.runtime.policy.policy import Policy
    from callblocks.runtime.policy.rules import Rule
    from callblocks.runtime.runtime import Runtime
    from callblocks.session.session import Session
    from callblocks.timeline.timeline import Timeline
    from callblocks.tools.context import Context
    from callblocks.tools.declare import tool
    from callblocks.tools.registry import Registry

__all__ = (
    "Call",
    "Context",
    "Failure",
    "Limits",
    "Outcome",
    "Parser",
    "Policy",
    "Registry",
    "Result",
    "Rule",
    "Runtime",
    "Session",
    "Timeline",
    "ToolError",
    "ToolSpec",
    "conversion",
    "convert",
    "dialects",
    "parse",
    "tool",
)

__version__ = "0.8.0"

_HOMES = {
    "Call": "model.calls",
    "Context": "tools.context",
    "Failure": "model.outcomes",
    "Limits": "parsing.limits",
    "Outcome": "model.outcomes",
    "Parser": "parser",
    "Policy": "runtime.policy.policy",
    "Registry": "tools.registry",
    "Result": "model.calls",
    "Rule": "runtime.policy.rules",
    "Runtime": "runtime.runtime",
    "Session": "session.session",
    "Timeline": "timeline.timeline",
    "ToolError": "model.errors",
    "ToolSpec": "model.specs",
    "conversion": "parser",
    "convert": "parser",
    "parse": "parser",
    "tool": "tools.declare",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line must start at once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
