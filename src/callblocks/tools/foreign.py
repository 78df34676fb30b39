"""Tools that are known by their schema only and run elsewhere: OpenAI's `tools` list.

    [{"type": "function", "function": {"name": "search", "parameters": {…}}}]

Nothing is known of what they do, so the worst is assumed: destructive, and reaching out. What
a list says of its own tools, as `annotations` with `readOnlyHint` and the like, counts only
where the caller trusts it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from callblocks.model.errors import BadSpec
from callblocks.model.specs import ToolSpec, read_specs
from callblocks.tools.names import is_name
from callblocks.tools.schema_check import SchemaCheck
from callblocks.tools.tool import Tool
from callblocks.tools.traits import Traits

__all__ = ("Run", "foreign_tools")

Run: TypeAlias = Callable[[str, dict[str, Any]], Any]
"""Runs a tool by its name and input, sync or async; it answers with an envelope."""


def foreign_tools(
    value: object, run: Run | None = None, *, trust_hints: bool = False
) -> tuple[Tool, ...]:
    """Make tools of a list of specifications; without `run` they are known but cannot run."""
    specs = read_specs(value)
    entries = cast("list[dict[str, Any]]", value)
    hints = [_hints(entry) if trust_hints else {} for entry in entries]
    return tuple(_foreign(spec, run, said) for spec, said in zip(specs, hints, strict=True))


def _foreign(spec: ToolSpec, run: Run | None, hints: dict[str, Any]) -> Tool:
    if not is_name(spec.name):
        raise BadSpec(f"{spec.name!r:.80} is no name for a tool; use letters, digits and `_-.:/`")
    _require_object(spec)
    return Tool(
        spec=spec,
        check=SchemaCheck(spec.name, spec.parameters),
        function=None if run is None else _runner(spec.name, run),
        traits=_traits(hints),
        origin="external",
    )


def _require_object(spec: ToolSpec) -> None:
    kind = spec.parameters.get("type", "object")
    if kind != "object" and "object" not in kind:
        raise BadSpec(f"tool {spec.name}: its parameters are an object, not {kind!r:.60}")
    if spec.body is not None and spec.body not in spec.properties:
        raise BadSpec(f"tool {spec.name}: its body {spec.body!r:.60} is no parameter")


def _runner(name: str, run: Run) -> Callable[..., Any]:
    """The function of one tool: it stays async if the caller's is."""
    if inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(
        getattr(run, "__call__", None)  # noqa: B004 an object may be called and be async
    ):

        async def answer_later(**values: Any) -> Any:
            return await run(name, values)

        return answer_later

    def answer(**values: Any) -> Any:
        return run(name, values)

    return answer


def _hints(entry: dict[str, Any]) -> dict[str, Any]:
    function = entry.get("function")
    inner = cast("dict[str, Any]", function) if isinstance(function, dict) else entry
    given = entry.get("annotations", inner.get("annotations"))
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


def _traits(hints: dict[str, Any]) -> Traits:
    """The traits that hints give; a hint that is not `true` or `false` says nothing."""
    said = {key: value for key, value in hints.items() if isinstance(value, bool)}
    read_only = said.get("readOnlyHint", False)
    return Traits(
        read_only=read_only,
        destructive=not read_only and said.get("destructiveHint", True),
        idempotent=said.get("idempotentHint", read_only),
        open_world=said.get("openWorldHint", True),
    )
