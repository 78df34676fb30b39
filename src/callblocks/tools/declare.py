'''Declaring a tool: `@tool` on a typed function, sync or async.

    @tool(needs_approval=True, timeout=30)
    def remove(path: Path) -> str:
        """Delete a file.

        Args:
            path: the file, below the workspace
        """

The name is the function's, the texts are the docstring's, the schema is the signature's. A
parameter annotated `Context` is given by the runtime and not seen by the model. What is not
said is assumed for the worse: a tool that is not `read_only` is destructive.
'''

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any, TypedDict, TypeGuard, Unpack, get_args, overload
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace
from pydantic import BaseModel, PydanticSchemaGenerationError, PydanticUserError

from callblocks.core.calls import ResultKind
from callblocks.core.errors import BadTool
from callblocks.core.specs import ToolSpec
from callblocks.core.text import brief
from callblocks.tools.check import TypedCheck
from callblocks.tools.schema import tidy
from callblocks.tools.tool import (
    KINDS,
    RESULT_KINDS,
    Kind,
    OfInput,
    Origin,
    Paths,
    Precheck,
    Tool,
    Traits,
    is_name,
)
from callblocks.tools.typed_input import TypedInput, input_faults, read_docstring, read_signature

__all__ = (
    "Options",
    "declared",
    "is_model",
    "spec_of",
    "tool",
)


class Options(TypedDict, total=False):
    """Options of a tool beside its function.

    `body` names the parameter that takes a block's body: a string, or a list of strings, one on
    each line, or another list or an object as JSON. `preview` takes the same values as the function
    and returns what the call would change. `paths` takes the input and returns the paths that a
    policy judges, where single parameters do not hold them; `reaches` returns those that an input
    denotes by an id. `reaches_any_host` takes the input and returns whether this call may reach any
    host, though others do not. `isolated` runs the function in a subprocess. `stores` names the
    place where tools keep their input: what a tainted call put there is text of others for all
    tools that name it; "" means that nothing is kept. `carries` takes the input and returns the
    paths of what leaves with a call, where `paths` does not. `result` is the kind of result on a
    timeline: a tool whose result is `search` gives rows that become sources, one with `write`
    leaves a file at its parameter `path`.
    """

    name: str | None
    description: str | None
    read_only: bool
    destructive: bool | None
    idempotent: bool | None
    open_world: bool
    kind: Kind
    result: ResultKind | None
    needs_approval: bool
    timeout: float | None
    body: str | None
    preview: Callable[..., str] | None
    precheck: Precheck | None
    paths: Paths | None
    reaches: Paths | None
    reaches_any_host: OfInput | None
    isolated: bool
    stores: str | None
    carries: Paths | None
    origin: Origin


@overload
def tool(function: Callable[..., Any], /, **options: Unpack[Options]) -> Tool: ...
@overload
def tool(**options: Unpack[Options]) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(  # noqa: PLR0913 each is one thing that may be said of a tool
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool = False,
    kind: Kind = "plain",
    result: ResultKind | None = None,
    needs_approval: bool = False,
    timeout: float | None = None,
    body: str | None = None,
    preview: Callable[..., str] | None = None,
    precheck: Precheck | None = None,
    paths: Paths | None = None,
    reaches: Paths | None = None,
    reaches_any_host: OfInput | None = None,
    isolated: bool = False,
    stores: str | None = None,
    carries: Paths | None = None,
    origin: Origin = "function",
) -> Any:
    """Make a tool of a typed function: `@tool`, `@tool(read_only=True)`, `tool(function, …)`.

    Raises `BadTool` for a function that a model could not call, saying what it lacks.
    """
    # Taken here, at a fixed depth of the stack, because `declare` may run later as a decorator.
    caller = _caller()
    traits = Traits(
        read_only=read_only,
        # Unknown means dangerous: a policy asks rather once too often.
        destructive=not read_only if destructive is None else destructive,
        idempotent=read_only if idempotent is None else idempotent,
        open_world=open_world,
        kind=kind,
        result=result,
    )

    def declare(function: Callable[..., Any]) -> Tool:
        named = _name(function, name)
        _require_sense(named, traits, timeout, origin)
        read = _read(function, named, description, body, caller, again=_is_own(function, origin))
        _require_same_values(named, "preview", preview, read.names)
        _require_same_values(named, "precheck", precheck, read.names)
        return Tool(
            spec=read.spec,
            check=read.check,
            function=function,
            traits=traits,
            origin=origin,
            needs_approval=needs_approval,
            timeout=timeout,
            context=read.context,
            preview=preview,
            precheck=precheck,
            paths=paths,
            reaches=reaches,
            reaches_any_host=reaches_any_host,
            isolated=isolated,
            stores=stores,
            carries=carries,
        )

    return declare if function is None else declare(function)


class _Read(msgspec.Struct, frozen=True):
    """The parts read from the signature and the docstring of a function."""

    spec: ToolSpec
    check: TypedCheck
    names: tuple[str, ...]
    context: str | None


_specs: WeakKeyDictionary[Callable[..., Any], ToolSpec] = WeakKeyDictionary()


def spec_of(thing: Callable[..., Any]) -> ToolSpec:
    """Return the specification of a typed function or of a pydantic model.

    Parsers are made for each reply, from the same functions: the result is cached.
    """
    if is_model(thing):
        return _specs.get(thing) or _specs.setdefault(thing, _model_spec(thing))
    if inspect.isfunction(thing):
        return _specs.get(thing) or _specs.setdefault(thing, tool(thing).spec)
    return tool(thing).spec


def is_model(thing: object) -> TypeGuard[type[BaseModel]]:
    """Return whether it is a pydantic model class."""
    return isinstance(thing, type) and callable(getattr(thing, "model_json_schema", None))


def _model_spec(model: type[BaseModel]) -> ToolSpec:
    """Return the specification of a pydantic model: its name, its docstring, its schema."""
    try:
        schema = tidy(model.model_json_schema())
    except (PydanticUserError, PydanticSchemaGenerationError) as error:
        words = str(error).partition("\n")[0]
        raise BadTool(f"{model.__qualname__} has no JSON Schema: {words}") from error
    schema.pop("description", None)
    return ToolSpec(model.__name__, inspect.cleandoc(model.__doc__ or ""), schema)


_OWN = "callblocks."
_known: dict[tuple[object, ...], _Read] = {}


def _read(
    function: Callable[..., Any],
    name: str,
    description: str | None,
    body: str | None,
    caller: FrameType | None,
    *,
    again: bool,
) -> _Read:
    """Read a function; cache it where it is declared `again` and again, once per workspace."""
    # Keyed by the code object: closures that are made per workspace are new functions each time,
    # but share their code, and with it signature and docstring.
    key = (function.__module__, getattr(function, "__code__", function), name, description, body)
    if again and key in _known:
        return _known[key]
    signature = read_signature(function, _scope(function, caller))
    text = read_docstring(function.__doc__)
    taken = TypedInput(name, signature.parameters, text.parameters)
    schema = taken.schema()
    words = text.description if description is None else description
    spec = ToolSpec(name, words, schema, body)
    _require_body(spec)
    check = TypedCheck(taken.adapter, schema, taken.defaults, input_faults)
    names = tuple(one.name for one in signature.parameters)
    read = _Read(spec, check, names, signature.context)
    if again:
        _known[key] = read
    return read


def _is_own(function: Callable[..., Any], origin: Origin) -> bool:
    """Return whether it is a built-in: then its types and defaults are the same each time."""
    return origin == "builtin" and function.__module__.startswith(_OWN)


def _caller() -> FrameType | None:
    """Return the frame that called `tool`: annotations may use names that only exist there."""
    own = inspect.currentframe()
    called = own.f_back if own else None
    return called.f_back if called else None


def _scope(function: Callable[..., Any], caller: FrameType | None) -> Mapping[str, Any]:
    """Return the names around a function that was written where `tool` was called."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return caller.f_locals if caller and code in caller.f_code.co_consts else {}


def _name(function: Callable[..., Any], given: str | None) -> str:
    if not inspect.isfunction(function) and not inspect.ismethod(function):
        raise BadTool(f"{brief(function)} is no function; write one that calls it")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BadTool(
            f"{function.__qualname__} yields; a tool returns its output, and shows text while it "
            "runs by `context.report(…)`"
        )
    name = function.__name__ if given is None else given
    if not is_name(name):
        raise BadTool(
            f"{brief(name)} is no name for a tool; use letters, digits and `_-.:/`: "
            '`@tool(name="find_file")`'
        )
    return name


def _require_sense(name: str, traits: Traits, timeout: float | None, origin: str) -> None:
    if traits.read_only and traits.destructive:
        raise BadTool(f"{name}: a tool that is read_only is not destructive; say one of them")
    if traits.kind not in KINDS:
        raise BadTool(f"{name}: kind is one of {', '.join(KINDS)}, not {brief(traits.kind)}")
    if traits.result is not None and traits.result not in RESULT_KINDS:
        known = ", ".join(RESULT_KINDS)
        raise BadTool(f"{name}: result is one of {known}, not {brief(traits.result)}")
    if origin not in get_args(Origin):
        raise BadTool(
            f"{name}: origin is one of {', '.join(get_args(Origin))}, not {brief(origin)}"
        )
    if timeout is not None and (isinstance(timeout, bool) or not 0 < timeout < math.inf):
        raise BadTool(f"{name}: timeout is a number of seconds above 0, not {brief(timeout)}")


def _require_body(spec: ToolSpec) -> None:
    if spec.body is None:
        return
    properties = spec.properties
    if spec.body not in properties:
        known = ", ".join(properties) or "none"
        raise BadTool(f"{spec.name}: body={spec.body!r} is no parameter; there are: {known}")
    schema = properties[spec.body]
    # `str | None` takes text, too.
    is_text = any(one.get("type") == "string" for one in (schema, *schema.get("anyOf", ())))
    if not is_text and not spec.body_is_lines and not spec.body_is_json:
        raise BadTool(
            f"{spec.name}: body={spec.body!r} must be a `str`, a `list` or a `dict`: "
            "a body is text, lines of it, or JSON"
        )


def _require_same_values(
    name: str, part: str, function: Callable[..., Any] | None, names: Iterable[str]
) -> None:
    if function is None:
        return
    try:
        inspect.signature(function).bind(**dict.fromkeys(names))
    except (TypeError, ValueError) as error:
        raise BadTool(f"{name}: {part} must take the same values as the tool: {error}") from error


# --- Tools that are built for each turn but declared only once ---

# Declaring a tool reads its signature and docstring and builds a JSON schema. A session builds the
# same tools for each turn; only the closures differ. So the declaration is cached without its
# closures, and each turn gets a copy with closures of its own.
_declared_once: dict[tuple[object, ...], Tool] = {}
_nothing: dict[str, Any] = dict.fromkeys(("function", "preview", "precheck", "paths"))


def declared(**options: Unpack[Options]) -> Callable[[Callable[..., Any]], Tool]:
    """Return a decorator that declares a tool once and rebinds its function for each later turn."""

    def declare(function: Callable[..., Any]) -> Tool:
        # `destructive` is part of the key because it depends on the place: the same tool may
        # replace files in a workspace and not in a turn.
        key = (function.__module__, function.__qualname__, options.get("destructive"))
        if key not in _declared_once:
            _declared_once[key] = replace(tool(function, **options), **_nothing)
        # The cached tool must not keep the closures of an earlier turn: they hold its recorder.
        own = {name: options.get(name) for name in _nothing}
        return replace(_declared_once[key], **{**own, "function": function})

    return declare
