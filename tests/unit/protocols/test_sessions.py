"""A tool of an MCP server in a session: approval, timeline, files, switches; and the command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from callblocks.approvals.question import Answer
from callblocks.cli.main import cli
from callblocks.core.calls import Call
from callblocks.core.events import CallAsked, CallEnded
from callblocks.policy.policy import Policy
from callblocks.protocols.mcp.server_link import McpServers
from callblocks.protocols.mcp.servers import write_servers
from support.approvers import Person
from support.chat_server import served_host
from support.mcp_servers import entry_of
from support.scripted_sessions import Replies, blocks_of, of_type, run_turn, some_host, write

CALL = Call(id="c1", name="hostile.say", input={"word": "tide"})


def test_a_call_goes_through_approval_and_onto_the_timeline(tmp_path: Path) -> None:
    servers = McpServers([entry_of("files")], tmp_path / "state")
    model = Replies(write("tool-fence", CALL), "Done.")
    with some_host(tmp_path, model, policy=Policy.ask_all(), mcp=servers) as host:
        session = host.session("trip", Person(Answer("once")))
        events = asyncio.run(run_turn(session, "Say it."))
        (asked,), (ended,) = of_type(events, CallAsked), of_type(events, CallEnded)
        assert asked.input == {"word": "tide"}
        assert ended.outcome.ok
        assert len(ended.outcome.artifacts) == 2
        types = [block.type for block in blocks_of(session)]
    servers.close()
    assert "react.tool.call" in types
    assert "react.tool.result" in types
    # The model was taught the tool by the name that a policy uses.
    assert "hostile.say" in str(model.requests[0].messages[0].parts)


def test_a_call_that_nobody_approves_does_not_reach_the_server(tmp_path: Path) -> None:
    servers = McpServers([entry_of("die")], tmp_path / "state")
    model = Replies(write("tool-fence", CALL), "Done.")
    no = Person(Answer("deny", reason="no"))
    with some_host(tmp_path, model, policy=Policy.ask_all(), mcp=servers) as host:
        events = asyncio.run(run_turn(host.session("trip", no), "Say it."))
    (ended,) = of_type(events, CallEnded)
    servers.close()
    assert ended.outcome.error.code == "approval_denied"


def test_a_switched_off_tool_is_gone_with_the_next_turn(tmp_path: Path) -> None:
    servers = McpServers([entry_of("")], tmp_path / "state")
    with some_host(tmp_path, Replies(), mcp=servers) as host:
        before = host.session("trip")
        assert "hostile.say" in host.registry
        servers.pins.switch("hostile.say", on=False)
        host.renew_tools()
        assert "hostile.say" not in host.registry
        assert host.session("trip") is not before
        servers.pins.switch("hostile.say", on=True)
        servers.pins.switch("hostile", on=False)
        host.renew_tools()
        assert "hostile.say" not in host.registry
        assert [report.state for report in servers.reports()] == ["off"]
    servers.close()


def test_the_page_lists_servers_and_switches_their_tools(tmp_path: Path) -> None:
    servers = McpServers([entry_of("claims")], tmp_path / "state")
    with served_host(lambda: some_host(tmp_path, Replies(), mcp=servers)) as served:
        get, post = served.client.get, served.client.post
        (shown,) = get("/api/mcp").json()["servers"]
        assert (shown["name"], shown["tools"][0]["name"]) == ("hostile", "hostile.say")
        assert "hostile.say" in get("/api/tools").text
        assert post("/api/mcp/hostile.say", json={"on": False}).status_code == 200
        assert "hostile.say" not in get("/api/tools").text
        assert get("/api/mcp").json()["servers"][0]["tools"][0]["state"] == "off"
        assert post("/api/mcp/hostile.say", json={"on": True}).status_code == 200
        assert "hostile.say" in get("/api/tools").text
        assert post("/api/mcp/no.such", json={"on": True}).status_code == 404
    servers.close()


def test_known_tools_start_no_server(tmp_path: Path) -> None:
    first = McpServers([entry_of("")], tmp_path)
    assert [tool.name for tool in first.tools()] == ["hostile.say"]
    first.close()
    again = McpServers([entry_of("")], tmp_path)
    assert [tool.name for tool in again.tools()] == ["hostile.say"]
    assert [report.state for report in again.reports()] == ["closed"]
    again.close()


# --- The command ---


@pytest.fixture
def run_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("CALLBLOCKS_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("CALLBLOCKS_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(cli, ["mcp", *words])


def test_a_server_is_added_listed_tested_and_removed(run_command: Any, tmp_path: Path) -> None:
    entry = entry_of("claims")
    added = run_command("add", "notes", "--no-sandbox", "--", entry.command, *entry.args)
    assert added.exit_code == 0
    assert "notes.say" in added.stdout
    (listed,) = run_command("list", "--json").stdout.splitlines()
    assert json.loads(listed)["tools"][0]["name"] == "notes.say"
    assert json.loads(run_command("test", "notes", "--json").stdout)["state"] == "open"
    assert run_command("remove", "notes").exit_code == 0
    assert "No MCP server is configured" in run_command().stdout
    assert run_command("test", "notes").exit_code == 2


def test_a_file_of_another_program_is_added(run_command: Any, tmp_path: Path) -> None:
    entry = entry_of("")
    known = {"command": entry.command, "args": list(entry.args), "sandbox": False}
    (tmp_path / "other.json").write_text(json.dumps({"mcpServers": {"theirs": known}}))
    assert "theirs.say" in run_command("add", "--from", "other.json").stdout


def test_a_file_in_the_workspace_starts_nothing(run_command: Any, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name in (".mcp.json", "mcp.json", "mcp.toml"):
        write_servers(work / name, [entry_of("")])
    assert "No MCP server is configured" in run_command("list").stdout


def test_a_server_that_cannot_be_used_is_exit_code_one(run_command: Any) -> None:
    entry = entry_of("stillborn")
    run_command("add", "broken", "--no-sandbox", "--", entry.command, *entry.args)
    tested = run_command("test", "broken")
    assert tested.exit_code == 1
    assert "no disk" in " ".join(tested.stdout.split())


@pytest.mark.parametrize(
    "words",
    [
        ("add",),
        ("add", "a"),
        ("add", "a", "--env-from", "x", "--", "sh"),
        ("add", "a b", "--", "sh"),
    ],
)
def test_a_mistake_is_one_line(run_command: Any, words: tuple[str, ...]) -> None:
    assert run_command(*words).exit_code == 2
