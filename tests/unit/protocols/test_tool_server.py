"""Our tools for other programs: both eras, approvals, replicas, HTTP."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
import uvicorn
from mcp import Client
from mcp.shared.exceptions import MCPError

from callblocks.approvals.book import ApprovalBook
from callblocks.core.calls import Call
from callblocks.core.errors import CallerError
from callblocks.guard.files.root import Root
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.protocols.mcp.server_link import McpServers
from callblocks.protocols.mcp.servers import HttpSettings, ServerEntry, http_app, kept_key
from callblocks.protocols.mcp.tool_server import ToolServer, Workshop
from callblocks.runtime.journal import Journal
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.toolkits.standard import standard_tools
from callblocks.toolkits.turn_files import open_recorder
from support.tool_runtime import run_one

KEY = b"k" * 32
ALLOW = Policy((Rule(decide="allow", tool=("*",)),), autoexec=True)
WRITE = {"path": "a.md", "content": "tide\n"}


@contextmanager
def serving(
    folder: Path, policy: Policy = ALLOW, *, timeline: str = "", **settings: Any
) -> Generator[ToolServer]:
    with ExitStack() as stack:
        work = folder / "work"
        work.mkdir(exist_ok=True)
        root = stack.enter_context(Root(work, hidden=[folder / "state"]))
        (folder / "state").mkdir(exist_ok=True)
        journal = Journal(folder / "state" / "journal.sqlite")
        stack.callback(journal.close)
        recorder = open_recorder(folder / "state", timeline) if timeline else None
        place = Workshop(
            book=stack.enter_context(ApprovalBook(folder / "state" / "approvals.sqlite")),
            journal=journal,
            artifacts=Artifacts(folder / "state" / "artifacts"),
            root=root,
            recorder=stack.enter_context(recorder) if recorder else None,
        )
        yield ToolServer(standard_tools(root), policy, place, **settings)


def client(server: ToolServer, mode: str = "auto", answer: Any = None, **more: Any) -> Client:
    return Client(server.sdk_server(KEY), mode=mode, elicitation_callback=answer, **more)


def says(value: bool | str, asked: list[str] | None = None) -> Callable[..., Any]:
    """A person at the client: yes, no, or an action such as cancel."""

    async def answer(context: Any, params: Any) -> Any:
        if asked is not None:
            asked.append(params.message)
        if isinstance(value, str):
            return types.ElicitResult(action=value)  # pyright: ignore[reportArgumentType]
        return types.ElicitResult(action="accept", content={"approve": value})

    return answer


def call(server: ToolServer, name: str, given: dict[str, Any], **how: Any) -> Any:
    async def run() -> Any:
        async with client(server, **how) as one:
            return await one.call_tool(name, given)

    return asyncio.run(run())


def test_all_tools_have_names_that_clients_can_use(tmp_path: Path) -> None:
    async def names(server: ToolServer) -> list[str]:
        async with client(server) as one:
            return [tool.name for tool in (await one.list_tools()).tools]

    with serving(tmp_path) as server:
        listed = asyncio.run(names(server))
    assert "web_tools_web_search" in listed
    assert {"file_read", "mail_send", "exec_tools_execute_code_python"} - {*listed} == {"mail_send"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_call_that_is_allowed_runs(tmp_path: Path, mode: str) -> None:
    with serving(tmp_path) as server:
        (tmp_path / "work" / "a.md").write_text("tide\n")
        result = call(server, "file_read", {"path": "a.md"}, mode=mode)
    assert not result.is_error
    assert "tide" in result.content[0].text


def test_nothing_runs_without_a_policy(tmp_path: Path) -> None:
    with serving(tmp_path, Policy()) as server:
        result = call(server, "file_read", {"path": "a.md"})
    assert result.is_error
    assert result.content[0].text.startswith("policy_off:")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_approval_is_asked_at_the_client(tmp_path: Path, mode: str) -> None:
    asked: list[str] = []
    with serving(tmp_path, Policy.ask_all()) as server:
        result = call(server, "file_write", WRITE, mode=mode, answer=says(True, asked))
        assert not result.is_error
        again = call(server, "file_write", WRITE, mode=mode, answer=says(True, asked))
    assert (tmp_path / "work" / "a.md").read_text() == "tide\n"
    # The person saw the call with its preview; one yes is for one call.
    assert len(asked) == 2 or again.is_error
    assert "file_write" in asked[0]
    assert "+tide" in asked[0]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("said", [False, "decline", "cancel"])
def test_without_a_yes_nothing_runs(tmp_path: Path, mode: str, said: bool | str) -> None:
    with serving(tmp_path, Policy.ask_all()) as server:
        result = call(server, "file_write", WRITE, mode=mode, answer=says(said))
        assert result.is_error
    assert not (tmp_path / "work" / "a.md").exists()


def test_a_client_that_cannot_ask_leaves_the_question_open(tmp_path: Path) -> None:
    with serving(tmp_path, Policy.ask_all()) as server:
        result = call(server, "file_write", WRITE)
        assert "it waits as" in result.content[0].text
        with ApprovalBook(tmp_path / "state" / "approvals.sqlite") as book:
            (waiting,) = book.list("pending")
            book.approve(waiting.id)
        assert not call(server, "file_write", WRITE).is_error


def test_a_client_s_conversation_counts_as_tainted(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert "approval_required" in call(server, "file_write", WRITE).content[0].text
    with serving(tmp_path, trusts_client=True) as server:
        assert not call(server, "file_write", WRITE).is_error


# --- The state that a client brings back ---


async def _asked(one: Client, given: dict[str, Any], **more: Any) -> Any:
    return await one.session.call_tool("file_write", given, allow_input_required=True, **more)


YES = {"approval": types.ElicitResult(action="accept", content={"approve": True})}


def test_an_answer_is_for_the_call_that_was_shown(tmp_path: Path) -> None:
    async def run(server: ToolServer) -> None:
        async with client(server, answer=says(True)) as one:
            first = await _asked(one, WRITE)
            other = {"path": "b.md", "content": "other\n"}
            # The boundary binds the state to the arguments, and so does the hash in it.
            with pytest.raises(MCPError):
                await _asked(one, other, input_responses=YES, request_state=first.request_state)
            with pytest.raises(MCPError):
                await _asked(one, WRITE, input_responses=YES, request_state="forged")
            # Without a state an answer is none.
            second = await _asked(one, WRITE, input_responses=YES)
            assert isinstance(second, types.InputRequiredResult)

    with serving(tmp_path, Policy.ask_all()) as server:
        asyncio.run(run(server))
    assert not (tmp_path / "work" / "b.md").exists()
    assert not (tmp_path / "work" / "a.md").exists()


def test_an_answer_counts_once(tmp_path: Path) -> None:
    async def run(server: ToolServer) -> None:
        async with client(server, answer=says(True)) as one:
            state = (await _asked(one, WRITE)).request_state
            first = await _asked(one, WRITE, input_responses=YES, request_state=state)
            assert not first.is_error
            (tmp_path / "work" / "a.md").unlink()
            again = await _asked(one, WRITE, input_responses=YES, request_state=state)
            assert isinstance(again, types.InputRequiredResult)

    with serving(tmp_path, Policy.ask_all()) as server:
        asyncio.run(run(server))
    assert not (tmp_path / "work" / "a.md").exists()


def test_a_replica_with_the_same_key_takes_the_answer(tmp_path: Path) -> None:
    async def run(first: ToolServer, second: ToolServer) -> None:
        async with (
            client(first, answer=says(True)) as one,
            client(second, answer=says(True)) as two,
        ):
            state = (await _asked(one, WRITE)).request_state
            result = await _asked(two, WRITE, input_responses=YES, request_state=state)
            assert not result.is_error

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    ask = Policy.ask_all()
    with serving(tmp_path / "one", ask) as first, serving(tmp_path / "two", ask) as second:
        asyncio.run(run(first, second))
    assert (tmp_path / "two" / "work" / "a.md").exists()


def test_a_timeline_has_each_call(tmp_path: Path) -> None:
    with serving(tmp_path, timeline="theirs", trusts_client=True) as server:
        assert not call(server, "file_write", WRITE).is_error
        assert not call(server, "react_write", {"path": "note.md", "content": "x"}).is_error
        text = call(server, "react_read", {"paths": ["tl:"]}).content
        assert text
        recorder = server._place.recorder
        assert recorder is not None
        types_ = [entry.block.type for entry in recorder.timeline.entries()]
    assert types_.count("react.tool.call") == 3


# --- Over HTTP ---


@contextmanager
def listening(server: ToolServer) -> Generator[str]:
    """The address of a server over HTTP, in a thread."""
    config = uvicorn.Config(
        http_app(server, KEY, HttpSettings(token="t")), log_level="critical", port=0
    )
    served = uvicorn.Server(config)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=lambda: served.run([bound]), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
        finally:
            served.should_exit = True
            thread.join()


REFUSED = (
    (401, {}),
    (401, {"authorization": "Bearer x"}),
    (421, {"authorization": "Bearer t", "host": "evil.example"}),
    (403, {"authorization": "Bearer t", "origin": "https://evil.example"}),
)


def test_over_http_a_token_and_the_right_host_are_needed(tmp_path: Path) -> None:
    kinds = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with serving(tmp_path) as server, listening(server) as url:
        for code, headers in REFUSED:
            assert httpx2.post(url, json=ping, headers={**kinds, **headers}).status_code == code


_META = "io.modelcontextprotocol"
_ENVELOPE = {
    f"{_META}/protocolVersion": "2026-07-28",
    f"{_META}/clientInfo": {"name": "liar", "version": "1"},
    f"{_META}/clientCapabilities": {},
}
_TRUE = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "file_write",
}
_ANSWERED = {
    "requestState": "forged",
    "inputResponses": {"approval": {"action": "accept", "content": {"approve": True}}},
}
# What a client says of itself in its headers and in its body, and the code of the refusal.
LIES: tuple[tuple[dict[str, str], Any, dict[str, Any], int], ...] = (
    ({}, {**_ENVELOPE, f"{_META}/protocolVersion": "2025-06-18"}, {}, -32020),
    ({"mcp-protocol-version": "x" * 5_000}, _ENVELOPE, {}, -32020),
    (
        {"mcp-protocol-version": "2099-01-01"},
        {**_ENVELOPE, f"{_META}/protocolVersion": "2099-01-01"},
        {},
        -32022,
    ),
    ({"mcp-method": "tools/list"}, _ENVELOPE, {}, -32020),
    ({"mcp-name": "file_read"}, _ENVELOPE, {}, -32020),
    ({}, None, {}, -32602),
    ({}, {**_ENVELOPE, f"{_META}/clientCapabilities": 7}, {}, -32602),
    ({}, _ENVELOPE, _ANSWERED, -32602),
)


def test_a_client_that_lies_about_itself_is_refused(tmp_path: Path) -> None:
    kinds = {"accept": "application/json, text/event-stream", "authorization": "Bearer t"}
    with serving(tmp_path, trusts_client=True) as server, listening(server) as url:
        for headers, envelope, more, code in LIES:
            meta = {} if envelope is None else {"_meta": envelope}
            params = {"name": "file_write", "arguments": WRITE, **more, **meta}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            response = httpx2.post(url, json=body, headers={**kinds, **_TRUE, **headers})
            assert (response.status_code, response.json()["error"]["code"]) == (400, code)
    assert not (tmp_path / "work" / "a.md").exists()


def test_our_own_client_calls_our_server_over_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "Bearer t")
    with serving(tmp_path, trusts_client=True) as server, listening(server) as url:
        entry = ServerEntry(name="ours", url=url, headers_env={"authorization": "OURS"})
        servers = McpServers([entry], tmp_path / "state")
        tools = servers.tools()
        assert servers.reports()[0].version == "2026-07-28"
        made = Call(id="c1", name="ours.file_write", input=WRITE)
        policy = Policy((Rule(decide="allow", tool=("ours.file_write",)),))
        outcome = run_one(tools, made, policy=policy)
        servers.close()
    assert outcome.ok
    assert (tmp_path / "work" / "a.md").read_text() == "tide\n"


def test_the_key_is_kept_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = kept_key(tmp_path)
    assert kept_key(tmp_path) == key
    assert (tmp_path / "mcp-key").stat().st_mode & 0o077 == 0
    (tmp_path / "mcp-key").chmod(0o644)
    with pytest.raises(CallerError):
        kept_key(tmp_path)
    monkeypatch.setenv("CALLBLOCKS_MCP_KEY", "short")
    with pytest.raises(CallerError):
        kept_key(tmp_path)
    monkeypatch.setenv("CALLBLOCKS_MCP_KEY", "x" * 40)
    assert kept_key(tmp_path) == b"x" * 40
