"""The parameters of a function: those that a model fills, and the one that takes a `Context`.

    def send(to: str, text: str = "", *, context: Context) -> str: …
             ──────────────────────────  ─────────────────
             for the model                given by the runtime

Every parameter must have a type and a name that a call can use.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from callblocks.model.errors import BadTool
from callblocks.tools.context import Context

__all__ = ("MISSING", "Parameter", "Signature", "read_signature")

# The default of a parameter that has none.
MISSING: Any = inspect.Parameter.empty

_UNNAMED = {
    inspect.Parameter.POSITIONAL_ONLY: "cannot be given by name; drop the `/`",
    inspect.Parameter.VAR_POSITIONAL: "has no fixed name; make it a list: `{name}: list[str]`",
    inspect.Parameter.VAR_KEYWORD: "has no fixed names; make it `{name}: dict[str, str]`",
}


class Parameter(msgspec.Struct, frozen=True):
    """One parameter for the model: its name, its type, and its default or `MISSING`."""

    name: str
    annotation: Any
    default: Any = MISSING


class Signature(msgspec.Struct, frozen=True):
    """The parameters of a function; `context` names the parameter that takes a `Context`."""

    parameters: tuple[Parameter, ...]
    context: str | None = None


def read_signature(function: Callable[..., Any], scope: Mapping[str, Any]) -> Signature:
    """Read the parameters of a function; `scope` has the names around its declaration."""
    hints = _hints(function, scope)
    given = inspect.signature(function).parameters.values()
    contexts = [one.name for one in given if _is_context(hints.get(one.name))]
    # Two would be ambiguous for the runtime, which passes exactly one.
    if len(contexts) > 1:
        raise _bad(function, f"takes more than one Context: {', '.join(contexts)}")
    plain = tuple(_parameter(function, one, hints) for one in given if one.name not in contexts)
    for one in given:
        _require_name(function, one)
    return Signature(plain, contexts[0] if contexts else None)


def _hints(function: Callable[..., Any], scope: Mapping[str, Any]) -> dict[str, Any]:
    # The return type is not needed, and may be imported under TYPE_CHECKING only.
    taken = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    around = getattr(inspect.unwrap(function), "__globals__", {})
    # `get_type_hints` resolves all annotations of a function or none. A stand-in without the return
    # annotation avoids failing on a type that only a checker knows.
    stand_in = types.SimpleNamespace(__annotations__=taken, __globals__=around)
    try:
        return typing.get_type_hints(stand_in, localns={**around, **scope}, include_extras=True)
    except NameError as error:
        raise _bad(
            function,
            f"has an annotation that names {error.name!r}, which is not known there; "
            "import or define it before the tool, and not under TYPE_CHECKING",
        ) from error
    except (TypeError, SyntaxError, AttributeError) as error:
        raise _bad(function, f"has an annotation that is no type: {error}") from error


def _parameter(
    function: Callable[..., Any], given: inspect.Parameter, hints: Mapping[str, Any]
) -> Parameter:
    _require_name(function, given)
    if given.name not in hints:
        method = "; of a method, declare the bound one: `tool(thing.method)`"
        raise _bad(
            function,
            f"has no type for `{given.name}`; write `{given.name}: str`, or the type it has"
            f"{method if given.name in ('self', 'cls') else ''}",
        )
    hint = hints[given.name]
    # `x: str = None` is common Python for an optional parameter.
    if given.default is None and not _takes_none(hint):
        hint = hint | None
    return Parameter(given.name, hint, given.default)


def _require_name(function: Callable[..., Any], given: inspect.Parameter) -> None:
    if given.kind in _UNNAMED:
        raise _bad(function, f"`{given}` {_UNNAMED[given.kind].format(name=given.name)}")


def _is_context(hint: Any) -> bool:
    return any(isinstance(one, type) and issubclass(one, Context) for one in _members(hint))


def _takes_none(hint: Any) -> bool:
    return hint is Any or any(one in (None, types.NoneType, Any) for one in _members(hint))


def _members(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union, inside `Annotated` too; any other type alone."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _members(typing.get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        return tuple(one for part in typing.get_args(hint) for one in _members(part))
    if origin is typing.Literal:
        return typing.get_args(hint)
    return (hint,)


def _bad(function: Callable[..., Any], what: str) -> BadTool:
    return BadTool(f"{getattr(function, '__qualname__', function)} is no tool yet: it {what}")
