from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from callblocks.model.outcomes import Outcome
from callblocks.runtime.files.root import Root
from callblocks.runtime.net.client import Client
from callblocks.runtime.net.limits import NetLimits
from callblocks.runtime.policy.policy import Policy
from callblocks.runtime.policy.rules import Rule
from callblocks.runtime.runtime import Runtime
from callblocks.toolkits.standard import standard_tools
from support.running import call
from support.sites import PUBLIC, SECOND, Net, Site, ok, redirect


def test_these_tools_come_with_callblocks(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        tools = standard_tools(root).tools
    assert [tool.name for tool in tools] == [
        *("file_read", "file_list", "file_write", "file_upload"),
        *("terminal_execute", "api_call"),
    ]
    assert {tool.origin for tool in tools} == {"builtin"}


@pytest.mark.parametrize(
    ("hosts", "code"), [(("public.test",), "policy_denied"), (("*.test",), "")]
)
def test_the_policy_also_judges_where_a_server_sends_a_call_on(
    hosts: tuple[str, ...], code: str, tmp_path: Path
) -> None:
    policy = Policy((Rule(decide="allow", tool=("api_call",), host=hosts),))

    async def act() -> tuple[Outcome, int]:
        goal = Site(lambda asked: ok(b"the goal"))
        start = Site(lambda asked: redirect("http://second.test/"))
        async with goal, start:
            net = Net(
                {"public.test": [[PUBLIC]], "second.test": [[SECOND]]},
                {PUBLIC: start.port, SECOND: goal.port},
            )
            client = Client(NetLimits(), (), net.resolve, backend=net)
            with Root(tmp_path) as root:
                runtime = Runtime(standard_tools(root, client), policy)
                asked = call("api_call", url="http://public.test/")
                (outcome,) = [one async for one in runtime.run([asked])]
            return outcome, goal.met

    outcome, met = asyncio.run(act())
    assert met == (0 if code else 1)
    assert (outcome.error.code if outcome.error else "") == code
