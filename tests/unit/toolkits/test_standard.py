from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from callblocks.core.outcomes import Outcome
from callblocks.core.specs import CATALOGUE
from callblocks.guard.files.root import Root
from callblocks.guard.net.client import Client, NetLimits
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.runtime import Runtime
from callblocks.toolkits.standard import EXEC_TOOLS, RENDERING_TOOLS, standard_tools
from support.sites import PUBLIC, SECOND, Net, Site, ok, redirect
from support.tool_runtime import call


def test_these_tools_come_with_callblocks(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        tools = standard_tools(root).tools
    assert {tool.name for tool in tools} == {
        *(*CATALOGUE, "file_read", "file_list", "file_write"),
        *("web_tools.web_search", "web_tools.web_fetch"),
        *(*EXEC_TOOLS, *RENDERING_TOOLS),
    }
    external = {tool.name for tool in tools if tool.origin == "external"}
    assert external == {*RENDERING_TOOLS}
    assert {tool.origin for tool in tools} == {"builtin", "external"}
    assert not list(tmp_path.iterdir())


def test_a_kit_is_imported_and_made_when_one_of_its_tools_is_asked_for() -> None:
    program = (
        "import sys\n"
        "from callblocks.guard.files.root import Root\n"
        "from callblocks.toolkits.standard import EXEC_TOOLS, RENDERING_TOOLS, standard_tools\n"
        "def heavy():\n"
        "    kits = [f'tools.{kit}_tools' for kit in ('mail', 'drive', 'sheet', 'task')]\n"
        "    known = {f'callblocks.toolkits.office.{kit}': kit for kit in kits}\n"
        "    known |= {name: name for name in ('pydantic', 'httpx2', 'sqlite3', 'trafilatura')}\n"
        "    print(*sorted(known[name] for name in known if name in sys.modules))\n"
        "with Root('.') as root:\n"
        "    tools = standard_tools(root)\n"
        "    heavy()\n"
        "    tools['tasks_list']\n"
        "    heavy()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["", "pydantic tools.task_tools"]


def test_tools_of_one_kind_are_read_once_for_all_workspaces(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with Root(tmp_path / "one") as one, Root(tmp_path / "two") as two:
        first, second = standard_tools(one)["file_write"], standard_tools(two)["file_write"]
        assert first.spec is second.spec
        second(path="a.md", content="two")
    assert (tmp_path / "two" / "a.md").read_text() == "two"
    assert not (tmp_path / "one" / "a.md").exists()


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
