"""Tools that are known by their schema only and run elsewhere: a list of dicts.

    [{"type": "function", "function": {"name": "search", "parameters": {…}}}]

The dicts are those of OpenAI, Anthropic, Gemini, MCP and others (`callblocks.core.specs`).

Their behaviour is unknown, so the worst is assumed: destructive, and reaching out. A list's own
claims about its tools, such as `annotations` with `readOnlyHint`, count only where the caller
trusts the list: a hostile server would call its tools read-only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from callblocks.core.errors import BadSpec
from callblocks.core.extras import needing
from callblocks.core.specs import ToolSpec
from callblocks.tools.tool import Check, Checked, Tool, Traits, is_name

__all__ = ("Run", "foreign_tool", "run_by")

# A function that runs a tool by its name and input, sync or async, and returns an envelope.
Run: TypeAlias = Callable[[str, dict[str, Any]], Any]


def foreign_tool(
    spec: ToolSpec, hints: Mapping[str, Any], own: Callable[..., Any] | None = None
) -> Tool:
    """Make a tool from a specification; `hints` are the claims of its list.

    `own` is the object that has the specification, where it can be called; without it, the tool is
    known but cannot run.
    """
    if not is_name(spec.name):
        raise BadSpec(f"{spec.name!r:.80} is no name for a tool; use letters, digits and `_-.:/`")
    _require_object(spec)
    return Tool(
        spec=spec,
        check=_schema_check(spec),
        function=own and _caller(own),
        traits=_traits(hints),
        origin="external" if own is None else "function",
    )


def run_by(tool: Tool, run: Run) -> Tool:
    """Return the tool with `run` as its function, if it has none itself."""
    if tool.function is not None:
        return tool
    return msgspec.structs.replace(tool, function=_runner(tool.name, run))


def _schema_check(spec: ToolSpec) -> Check:
    """Return the check of an input by the schema.

    Reading, writing and teaching check no input: without the packages that do, a tool is known,
    and `MissingExtra` is raised when an input is to be checked.
    """
    try:
        from callblocks.tools.schema_check import SchemaCheck
    except ImportError:

        def check(given: dict[str, Any]) -> Checked:
            with needing("run", f"checking the input of {spec.name}"):
                from callblocks.tools.schema_check import SchemaCheck
            return SchemaCheck(spec.name, spec.parameters)(given)

        return check
    return SchemaCheck(spec.name, spec.parameters)


def _require_object(spec: ToolSpec) -> None:
    kind = spec.parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise BadSpec(f"tool {spec.name}: its parameters are an object, not {kind!r:.60}")
    if spec.body is not None and spec.body not in spec.properties:
        raise BadSpec(f"tool {spec.name}: its body {spec.body!r:.60} is no parameter")


def _runner(name: str, run: Run) -> Callable[..., Any]:
    """Return the function of one tool; it is async if the caller's is."""
    if _is_async(run):

        async def answer_later(**values: Any) -> Any:
            return await run(name, values)

        return answer_later

    def answer(**values: Any) -> Any:
        return run(name, values)

    return answer


def _caller(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls an object, and is async where the object is."""
    if not _is_async(own):
        return own

    async def answer_later(**values: Any) -> Any:
        return await own(**values)

    return answer_later


def _is_async(run: Callable[..., Any]) -> bool:
    called = getattr(run, "__call__", None)  # noqa: B004 an object may be called and be async
    return inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(called)


def _traits(hints: Mapping[str, Any]) -> Traits:
    """Return the traits that hints give; a hint that is not `true` or `false` is ignored."""
    said = {key: value for key, value in hints.items() if isinstance(value, bool)}
    read_only = said.get("readOnlyHint", False)
    return Traits(
        read_only=read_only,
        destructive=not read_only and said.get("destructiveHint", True),
        idempotent=said.get("idempotentHint", read_only),
        open_world=said.get("openWorldHint", True),
    )
