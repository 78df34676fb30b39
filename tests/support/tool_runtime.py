"""Tools of all kinds, and a runtime around them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from callblocks.core.calls import Call
from callblocks.core.outcomes import Outcome
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.judgement import Judged, Listener, Turn
from callblocks.runtime.runtime import Runtime
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

ALLOW_ALL = Policy((Rule(decide="allow", tool=("*",)),))


def call(name: str, id: str = "c1", priority: object = None, **input: Any) -> Call:
    """A call with its arguments as keywords."""
    extra = {} if priority is None else {"priority": priority}
    return Call(id=id, name=name, input=input, extra=extra)


def run(
    tools: Iterable[Tool],
    *calls: Call,
    policy: Policy = ALLOW_ALL,
    turn: Turn | None = None,
    listen: Listener | None = None,
    judged: Callable[[Judged], None] | None = None,
    **parts: Any,
) -> list[Outcome]:
    """The outcomes of calls, in the order they came."""
    runtime = Runtime(Registry(tools), policy, **parts)

    async def collect() -> list[Outcome]:
        return [outcome async for outcome in runtime.run(calls, turn, listen, judged)]

    return asyncio.run(collect())


def run_one(tools: Iterable[Tool], one: Call, **parts: Any) -> Outcome:
    """The outcome of a single call."""
    (outcome,) = run(tools, one, **parts)
    return outcome
