"""Tool calls in what a language model writes: read, write, teach and constrain them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from callblocks.dialects import dialects

if TYPE_CHECKING:
    from callblocks.model.calls import Call, Result
    from callblocks.model.specs import ToolSpec
    from callblocks.parser import Parser, convert, parse
    from callblocks.parsing.limits import Limits

__all__ = ("Call", "Limits", "Parser", "Result", "ToolSpec", "convert", "dialects", "parse")

__version__ = "0.1.0"

_HOMES = {
    "Call": "model.calls",
    "Limits": "parsing.limits",
    "Parser": "parser",
    "Result": "model.calls",
    "ToolSpec": "model.specs",
    "convert": "parser",
    "parse": "parser",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line must start at once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
