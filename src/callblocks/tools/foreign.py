"""Tools that are known by their schema only and run elsewhere: a list of dicts.

    [{"type": "function", "function": {"name": "search", "parameters": {…}}}]

The dicts are those of OpenAI, Anthropic, Gemini, MCP and others (`callblocks.model.specs`).

Nothing is known of what they do, so the worst is assumed: destructive, and reaching out. What
a list says of its own tools, as `annotations` with `readOnlyHint` and the like, counts only
where the caller trusts it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from callblocks.model.errors import BadSpec
from callblocks.model.specs import ToolSpec, entries, flat_entries, read_entry
from callblocks.tools.names import is_name
from callblocks.tools.schema_check import SchemaCheck
from callblocks.tools.tool import Tool
from callblocks.tools.traits import Traits

__all__ = ("Run", "foreign_tool", "foreign_tools")

Run: TypeAlias = Callable[[str, dict[str, Any]], Any]
"""Runs a tool by its name and input, sync or async; it answers with an envelope."""


def foreign_tools(
    value: object, run: Run | None = None, *, trust_hints: bool = False
) -> tuple[Tool, ...]:
    """Make tools of a list of specifications; without `run` they are known but cannot run."""
    return tuple(
        foreign_tool(spec, run, hints if trust_hints else {})
        for at, entry in enumerate(entries(value))
        for spec, hints in zip(read_entry(entry, at), _hints(entry, at), strict=False)
    )


def foreign_tool(spec: ToolSpec, run: Run | None, hints: Mapping[str, Any] | None = None) -> Tool:
    """Make a tool of a specification; `hints` are what its list says of it."""
    if not is_name(spec.name):
        raise BadSpec(f"{spec.name!r:.80} is no name for a tool; use letters, digits and `_-.:/`")
    _require_object(spec)
    return Tool(
        spec=spec,
        check=SchemaCheck(spec.name, spec.parameters),
        function=None if run is None else _runner(spec.name, run),
        traits=_traits(hints or {}),
        origin="external",
    )


def _require_object(spec: ToolSpec) -> None:
    kind = spec.parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
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


def _hints(entry: object, at: int) -> Iterator[Mapping[str, Any]]:
    """What is said of each tool of an entry; all but dicts say nothing."""
    if not isinstance(entry, Mapping):
        yield {}
        return
    for flat in flat_entries(cast("Mapping[str, Any]", entry), at):
        given = flat.get("annotations")
        yield cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}


def _traits(hints: Mapping[str, Any]) -> Traits:
    """The traits that hints give; a hint that is not `true` or `false` says nothing."""
    said = {key: value for key, value in hints.items() if isinstance(value, bool)}
    read_only = said.get("readOnlyHint", False)
    return Traits(
        read_only=read_only,
        destructive=not read_only and said.get("destructiveHint", True),
        idempotent=said.get("idempotentHint", read_only),
        open_world=said.get("openWorldHint", True),
    )
