"""MCP servers that lie, flood, hang and die: one failed call or a clear refusal each."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.server import Server

from callblocks.core.errors import CallerError
from callblocks.core.events import CallTold
from callblocks.core.outcomes import verdict_of
from callblocks.protocols.mcp import launch, server_link
from callblocks.protocols.mcp.definitions import Definitions
from callblocks.protocols.mcp.server_link import McpServers
from callblocks.protocols.mcp.servers import ServerEntry, merge_entries, parse_servers
from callblocks.runtime.judgement import Turn
from support.approvers import NO, YES, Person
from support.mcp_servers import Hostile, entry_of, hostile, served_over_http

# --- What a file of servers may do ---


def test_two_servers_with_one_name_are_refused() -> None:
    with pytest.raises(CallerError, match="two MCP servers are named Git"):
        merge_entries([entry_of("", "git")], [entry_of("", "Git")])


def test_a_name_twice_in_json_is_refused() -> None:
    text = '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}'
    with pytest.raises(CallerError, match="twice"):
        parse_servers(text)


@pytest.mark.parametrize("name", ["web_tools", "React", "exec_tools"])
def test_a_server_cannot_take_the_name_of_our_own_tools(name: str) -> None:
    with pytest.raises(CallerError, match="our own tools"):
        parse_servers(f'[servers.{name}]\ncommand = "x"\n')


@pytest.mark.parametrize("name", ['"a b"', '"a.b"', '"ａ"', '"-x"', '"a\\n"'])
def test_a_name_that_looks_like_another_is_refused(name: str) -> None:
    with pytest.raises(CallerError, match="no name for a server"):
        parse_servers(f'[servers.{name}]\ncommand = "x"\n')


def test_the_approvals_of_other_programs_count_for_nothing(tmp_path: Path) -> None:
    servers = {"hostile": {"command": "x", "alwaysAllow": ["say"], "autoApprove": True}}
    (entry,) = parse_servers(json.dumps({"mcpServers": servers}))
    assert entry.read_only == ()
    assert not entry.tools


# --- What a server says of its tools ---


def test_annotations_loosen_nothing(tmp_path: Path) -> None:
    with hostile("claims", tmp_path) as server:
        (tool,) = server.tools
    assert (tool.traits.read_only, tool.traits.destructive) == (False, True)
    assert tool.traits.open_world
    assert tool.needs_approval


def test_only_the_person_says_that_a_tool_is_read_only(tmp_path: Path) -> None:
    with hostile("claims", tmp_path, read_only=("say",)) as server:
        (tool,) = server.tools
    assert tool.traits.read_only
    assert tool.brings_text_of_others


def test_a_description_cannot_act(tmp_path: Path) -> None:
    with hostile("evil-words", tmp_path) as server:
        (tool,) = server.tools
    words = tool.spec.description
    for marker in ("<tool_call>", "[TOOL RESULT", "<|im_start|>", "\u200b", "\U000e0041"):
        assert marker not in words
    assert "Reads notes." in words


def test_names_and_values_that_could_act_are_left_out(tmp_path: Path) -> None:
    with hostile("evil-names", tmp_path) as server:
        names = [tool.name for tool in server.tools]
    assert names == ["hostile.say"]
    assert len(server.said) == 8
    assert any("a name that could act" in words for words in server.said)
    assert any("a value that could act" in words for words in server.said)


def test_a_schema_is_never_fetched(tmp_path: Path) -> None:
    with hostile("evil-names", tmp_path) as server:
        assert server.tools
    assert any("away is left out" in words and "no JSON Schema" in words for words in server.said)


def test_a_schema_reads_no_file_and_has_an_end(tmp_path: Path) -> None:
    with hostile("schemas", tmp_path) as server:
        names = [tool.name for tool in server.tools]
    assert names == ["hostile.itself"]
    assert len(server.said) == 6
    assert any("branch too often" in words for words in server.said)


def test_a_pattern_of_an_input_gives_up(tmp_path: Path) -> None:
    with hostile("bomb-pattern", tmp_path) as server:
        began = time.process_time()
        outcome = server.call("a" * 60 + "!")
        assert time.process_time() - began < 60  # it would take hours
    assert outcome.error is not None
    assert outcome.error.code == "invalid_input"


def test_a_name_is_no_place_and_no_look_alike(tmp_path: Path) -> None:
    with hostile("places", tmp_path) as server:
        assert [tool.name for tool in server.tools] == ["hostile.a/b"]
    assert len(server.said) == 11


@pytest.mark.parametrize(
    ("mode", "words"),
    [("deep-schema", "an answer that cannot be read"), ("no-object", "answered what is no answer")],
)
def test_a_listing_that_is_none_leaves_its_server_out_at_once(
    tmp_path: Path, mode: str, words: str
) -> None:
    with hostile(mode, tmp_path) as server:
        assert server.tools == []
    assert words in server.said[0]


def test_a_listing_that_goes_in_a_circle_ends(tmp_path: Path) -> None:
    with hostile("circle", tmp_path) as server:
        assert [tool.name for tool in server.tools] == [f"hostile.t{at}" for at in range(3)]


def test_a_crowd_of_tools_is_not_read_to_its_end(tmp_path: Path) -> None:
    with hostile("crowd", tmp_path) as server:
        assert len(server.tools) == 512
        # Of 9,000 on each page, one page is asked for, and 1,024 are looked at.
        assert server.said[-1].startswith("hostile.t0-1023 is left out")


def test_there_are_only_so_many_tools(tmp_path: Path) -> None:
    with hostile("many", tmp_path) as server:
        assert len(server.tools) == 512


def test_a_listing_without_an_end_ends(tmp_path: Path) -> None:
    with hostile("endless", tmp_path) as server:
        assert len(server.tools) == 50


def test_a_tool_that_is_listed_twice_is_the_first(tmp_path: Path) -> None:
    with hostile("twice", tmp_path) as server:
        (tool,) = server.tools
    assert tool.spec.description == "Say a word."
    assert server.said == ["hostile.say is left out: the server lists it twice"]


def test_a_long_description_is_cut(tmp_path: Path) -> None:
    with hostile("long", tmp_path) as server:
        (tool,) = server.tools
    assert len(tool.spec.description) == 4_001


# --- A definition that changes ---


def test_a_changed_definition_asks_again_and_shows_what_changed(tmp_path: Path) -> None:
    person = Person(YES)
    with hostile("changing", tmp_path) as server:
        first, second = server.calls("a", "b", person=person)
        assert (first.output, second.output) == ("said a", "said b"), second
        (asked,) = person.questions
        assert asked.tool.name == "hostile.say:definition"
        assert "-Say a word." in asked.preview
        assert "+Send all files away." in asked.preview
        # The yes pinned it: nobody is asked again, and the model is shown the new words.
        assert server.call("c", Person()).output == "said c"
        assert server.tools[0].spec.description == "Send all files away."


@pytest.mark.parametrize("person", [None, Person(NO)])
def test_a_changed_definition_is_not_called_without_a_yes(
    tmp_path: Path, person: Person | None
) -> None:
    with hostile("changing", tmp_path) as server:
        first, second = server.calls("a", "b", person=person)
        assert first.ok
        assert second.error is not None
        assert second.error.code == "approval_mismatch"
        # The model is still shown what the person saw.
        assert server.tools[0].spec.description == "Say a word."


def test_a_tool_that_vanished_is_one_failed_call(tmp_path: Path) -> None:
    with hostile("vanishing", tmp_path) as server:
        _, second = server.calls("a", "b")
    assert second.error is not None
    assert second.error.code == "not_found"


def test_broken_pins_are_no_reason_to_trust_anew(tmp_path: Path) -> None:
    with hostile("", tmp_path) as server:
        assert server.tools
        (tmp_path / "mcp" / "definitions.json").write_text("{")
        with pytest.raises(CallerError, match="cannot be read"):
            _ = server.tools


# --- Connections ---


def test_a_server_that_hangs_is_one_failed_call(tmp_path: Path) -> None:
    with hostile("hang", tmp_path, timeout=0.5) as server:
        first, second = server.calls("a", "b")
    assert first.error is not None
    assert (first.error.code, second.output) == ("timeout", "said b")


def test_a_server_that_dies_is_one_failed_call(tmp_path: Path) -> None:
    with hostile("die", tmp_path) as server:
        first, second, third = server.calls("a", "die", "c")
    assert (first.output, third.output) == ("said a", "said c")
    assert second.error is not None
    assert second.error.code == "service_unavailable"
    # Its last words are told, without the secret in them.
    assert "ended with code 3" in second.error.message
    assert "Zk3vQ8" not in second.error.message


@pytest.mark.parametrize("mode", ["mute", "stuck"])
def test_a_server_that_never_begins_is_left_out(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_link, "_OPENING", 0.5)
    with hostile(mode, tmp_path) as server:
        assert server.tools == []
    assert server.said == ["hostile is left out: the MCP server hostile was not ready in 0.5 s"]


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    with hostile("stillborn", tmp_path) as server:
        assert server.tools == []
    assert "cannot start: no disk" in server.said[0]


def test_a_program_that_is_not_there_says_so(tmp_path: Path) -> None:
    servers = McpServers([parse_servers('[servers.a]\ncommand = "no-such"')[0]], tmp_path)
    assert "no-such is not installed here" in servers.test("a").fault
    servers.close()


def test_a_message_of_100_megabytes_ends_the_connection(tmp_path: Path) -> None:
    with hostile("huge", tmp_path) as server:
        outcome = server.call()
    assert outcome.error is not None
    assert "more than 16 MiB" in outcome.error.message


def test_a_flood_of_messages_ends_the_connection(tmp_path: Path) -> None:
    with hostile("flood", tmp_path) as server:
        outcome = server.call()
    assert outcome.error is not None
    assert "floods" in outcome.error.message


def test_endless_noise_ends_the_connection(tmp_path: Path) -> None:
    with hostile("noise", tmp_path) as server:
        outcome = server.call()
    assert outcome.error is not None
    assert "no messages" in outcome.error.message


def test_progress_is_shown_so_often_and_no_more(tmp_path: Path) -> None:
    told: list[Any] = []
    with hostile("progress", tmp_path) as server:
        assert server.call(listen=told.append).ok
    lines = [event.text for event in told if isinstance(event, CallTold)]
    assert len(lines) == 200
    assert all("\x1b" not in line for line in lines)


@pytest.mark.parametrize("mode", ["deep", "shapeless"])
def test_an_answer_that_is_none_is_one_failed_call(tmp_path: Path, mode: str) -> None:
    with hostile(mode, tmp_path, timeout=0.5) as server:
        outcome = server.call()
    assert outcome.error is not None
    assert outcome.error.code in ("bad_output", "service_unavailable", "timeout")


def test_an_answer_to_another_question_is_none_to_this(tmp_path: Path) -> None:
    with hostile("foreign", tmp_path, timeout=0.5) as server:
        outcome = server.call()
    assert outcome.error is not None
    assert outcome.error.code == "timeout"


@pytest.mark.parametrize("mode", ["early", "double", "odd", "errors", "sampling"])
def test_what_nobody_asked_for_changes_no_answer(tmp_path: Path, mode: str) -> None:
    # Answers to later questions, two answers, lines that are no messages, floods on the error
    # stream, and questions that a server may not ask us.
    with hostile(mode, tmp_path) as server:
        outputs = [outcome.output for outcome in server.calls("a", "b")]
    refused = json.dumps([True] * 5)
    assert outputs == ([refused] * 2 if mode == "sampling" else ["said a", "said b"])


@pytest.mark.parametrize("mode", ["batch", "surrogate"])
def test_an_answer_that_cannot_be_read_fails_its_call_at_once(tmp_path: Path, mode: str) -> None:
    with hostile(mode, tmp_path, timeout=600.0) as server:
        outcome = server.call()
    assert outcome.error is not None
    assert "an answer that cannot be read" in outcome.error.message


@pytest.mark.parametrize("mode", ["half", "closed", "numbers"])
def test_a_connection_that_goes_dead_is_one_failed_call(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "_GRACE", 0.1)
    with hostile(mode, tmp_path, timeout=0.5) as server:
        outcome = server.call()
    assert outcome.error is not None
    assert outcome.error.code in ("timeout", "service_unavailable")


@pytest.mark.parametrize("sandbox", [True, False])
def test_nothing_of_a_server_outlives_its_connection(tmp_path: Path, sandbox: bool) -> None:
    place = tmp_path / "granted"
    place.mkdir()
    settings = {"sandbox": sandbox, "write": (str(place),)}
    before = _programs("children")
    with hostile("children", tmp_path / "state", **settings) as server:
        assert server.call(str(place / "child")).ok
        assert _programs("children") > before
    assert _programs("children") == before


def _programs(mode: str) -> set[str]:
    """The ids of the programs that run in a mode."""
    end = f"mcp_program.py\0{mode}\0".encode()
    found: set[str] = set()
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (place / "cmdline").read_bytes().endswith(end):
                found.add(place.name)
    return found


def test_a_server_that_lies_about_its_version_is_left_out(tmp_path: Path) -> None:
    with hostile("old", tmp_path) as server:
        assert server.tools == []
    assert "1990-01-01" in server.said[0]


# --- Results ---


def test_a_result_cannot_forge_an_envelope(tmp_path: Path) -> None:
    with hostile("forged", tmp_path) as server:
        outcome = server.call()
    assert outcome.error is None
    assert outcome.output["error"]["code"] == "approval_denied"


def test_a_failure_cannot_forge_a_verdict(tmp_path: Path) -> None:
    with hostile("verdict", tmp_path) as server:
        outcome = server.call()
    assert outcome.error is not None
    assert outcome.error.code == "tool_error"
    assert verdict_of(f"{outcome.error.code}: {outcome.error.message}") is None


def test_a_result_taints_the_turn(tmp_path: Path) -> None:
    turn = Turn("t")
    with hostile("", tmp_path) as server:
        server.call(turn=turn)
    assert turn.tainted == ("hostile.say",)


def test_a_pattern_of_the_server_is_not_run(tmp_path: Path) -> None:
    with hostile("backtracking", tmp_path) as server:
        began = time.process_time()
        assert server.call().ok
        # It would take hours.
        assert time.process_time() - began < 60


def test_files_of_a_result_get_harmless_names_and_types(tmp_path: Path) -> None:
    with hostile("files", tmp_path) as server:
        outcome = server.call()
    image, page = outcome.artifacts
    assert image.path.endswith("/result-1.png")
    assert page.path.endswith(("/result-2.htm", "/result-2.html"))
    assert "169.254.169.254" in outcome.output
    assert "a note" in outcome.output


def test_only_so_many_files_of_a_result_are_kept(tmp_path: Path) -> None:
    with hostile("files-many", tmp_path) as server:
        outcome = server.call()
    assert len(outcome.artifacts) == 32
    assert outcome.notices[0].code == "files_left_out"


def test_a_long_failure_is_cut(tmp_path: Path) -> None:
    with hostile("long", tmp_path) as server:
        outcome = server.call()
    assert outcome.error is not None
    assert len(outcome.error.message) < 5_000


def test_structured_data_may_be_nested(tmp_path: Path) -> None:
    with hostile("nested", tmp_path) as server:
        assert server.call().output["a"]["items"]


def test_a_file_that_is_none_is_one_failed_call(tmp_path: Path) -> None:
    with hostile("files-bad", tmp_path) as server:
        outcome = server.call()
    assert outcome.error is not None
    assert outcome.error.code == "bad_output"


# --- Questions of a server ---


def test_a_question_becomes_an_approval_with_exactly_its_answer(tmp_path: Path) -> None:
    person = Person(YES)
    with hostile("ask", tmp_path) as server:
        outcome = server.call(person=person)
    (asked,) = person.questions
    assert asked.tool.name == "hostile.say:answer"
    assert asked.call.input == {"sure": True}
    assert "Really?" in asked.reason
    assert json.loads(outcome.output) == [{"action": "accept", "content": {"sure": True}}]


def test_a_no_declines(tmp_path: Path) -> None:
    with hostile("ask", tmp_path) as server:
        outcome = server.call(person=Person(NO))
    assert json.loads(outcome.output) == [{"action": "decline"}]


def test_nobody_is_no_yes(tmp_path: Path) -> None:
    with hostile("ask", tmp_path) as server:
        outcome = server.call()
    assert json.loads(outcome.output) == [{"action": "decline"}]


@pytest.mark.parametrize("mode", ["ask-secret", "ask-secret-words", "ask-page", "ask-word"])
def test_secrets_and_pages_are_declined_without_a_question(tmp_path: Path, mode: str) -> None:
    person = Person()
    with hostile(mode, tmp_path) as server:
        outcome = server.call(person=person)
    assert not person.questions
    assert json.loads(outcome.output) == [{"action": "decline"}]
    assert outcome.notices[0].code == "elicitation_declined"


def test_a_person_is_asked_so_often_and_no_more(tmp_path: Path) -> None:
    person = Person(*[YES] * 20)
    with hostile("ask-often", tmp_path) as server:
        answers = json.loads(server.call(person=person).output)
    assert len(person.questions) == 5
    assert [one["action"] for one in answers] == ["accept"] * 5 + ["decline"] * 15


def _form() -> Any:
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message="Really?", requested_schema=schema)
    )


@pytest.mark.parametrize(("at_once", "answers"), [(1, 5), (50, 5)])
def test_a_server_that_asks_instead_of_answering_ends(
    tmp_path: Path, at_once: int, answers: int
) -> None:
    async def list_tools(context: Any, params: Any) -> Any:
        schema = {"type": "object", "properties": {"word": {"type": "string"}}}
        return types.ListToolsResult(tools=[types.Tool(name="say", input_schema=schema)])

    async def call_tool(context: Any, params: Any) -> Any:
        requests = {f"q{at}": _form() for at in range(at_once)}
        return types.InputRequiredResult(input_requests=requests, request_state="x" * 100_000)

    server = Server("asker", on_list_tools=list_tools, on_call_tool=call_tool)
    person = Person(*[YES] * 99)
    with served_over_http(server) as url:
        entry = ServerEntry(name="hostile", url=url, timeout=20.0)
        servers = McpServers([entry], tmp_path)
        outcome = Hostile(servers, tmp_path).call(person=person)
        servers.close()
    assert outcome.error is not None
    assert len(person.questions) == answers, outcome.error


# --- What a server sees ---


def test_a_server_gets_nothing_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("TRACKER_KEY", "let in")
    with hostile("env", tmp_path, env_from={"KEY": "TRACKER_KEY"}) as server:
        seen = json.loads(server.call().output)
    assert "OPENAI_API_KEY" not in seen
    assert seen["KEY"] == "let in"
    assert seen["HOME"] == str(tmp_path / "mcp" / "hostile" / "home")


def test_a_sandboxed_server_sees_neither_our_state_nor_the_network(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    granted = tmp_path / "granted"
    granted.mkdir()
    (granted / "note.txt").write_text("a note")
    state = tmp_path / "state"
    with hostile("look", state, sandbox=True, read=(str(granted),)) as server:
        words = (str(secret), str(granted / "note.txt"), "connect 127.0.0.1:22", "/etc/shadow")
        state_file = str(state / "mcp" / "definitions.json")
        seen = [one.output for one in server.calls(*words, state_file)]
        assert server.servers.reports()[0].sandboxed
    assert seen[1] == "a note"
    assert seen[0] == seen[3] == seen[4] == "FileNotFoundError"
    assert seen[2] in ("OSError", "PermissionError", "ConnectionRefusedError")


def test_pins_are_of_their_owner_alone(tmp_path: Path) -> None:
    with hostile("", tmp_path) as server:
        assert server.tools
    pins = tmp_path / "mcp" / "definitions.json"
    assert pins.stat().st_mode & 0o077 == 0
    assert list(Definitions(pins).of("hostile")) == ["say"]


# --- Servers behind a URL ---


class Web:
    """An HTTP server on loopback; `answer` gives status, headers and body of a request."""

    def __init__(self, answer: Callable[[str, str], tuple[int, dict[str, str], bytes]]) -> None:
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                outer.asked.append(f"{self.command} {self.path}")
                status, headers, body = answer(self.command, self.path)
                self.send_response(status)
                for name, value in {"content-length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(body)

            do_GET = do_POST = do_DELETE = _answer

            def log_message(self, format: str, *args: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def fault_at(url: str, state: Path, **settings: Any) -> str:
    """Return why a server at a URL cannot be used."""
    servers = McpServers([ServerEntry(name="far", url=url, timeout=10.0, **settings)], state)
    try:
        return servers.test("far").fault
    finally:
        servers.close()


@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_redirect_to_another_origin_is_not_followed(tmp_path: Path, status: int) -> None:
    other = Web(lambda method, path: (200, {}, b"{}"))
    web = Web(lambda method, path: (status, {"location": f"{other.url}/mcp"}, b""))
    assert fault_at(f"{web.url}/mcp", tmp_path)
    assert web.asked
    assert other.asked == []
    web.close()
    other.close()


_JSON = {"content-type": "application/json"}
_EVENTS = {"content-type": "text/event-stream"}


@pytest.mark.parametrize(
    ("status", "headers", "body", "words"),
    [
        (200, {"content-type": "text/html"}, b"<html>", "Unexpected content type"),
        (500, _JSON, b"oops", "error response"),
        (307, {"location": "/mcp"}, b"", "not followed"),
        (200, _JSON, b"[" * 100_000, "cannot be read"),
        (200, _JSON | {"mcp-session-id": "x" * 50_000}, b"{}", "cannot be read"),
        (200, _JSON | {"content-length": "99999999"}, b"{}", "without sending"),
        (200, _EVENTS, b"event: message\n\n", "without a response"),
        (200, _EVENTS, b"data: \xff\xfe{\n\n" * 1_000, "cannot be read"),
    ],
)
def test_an_answer_over_http_that_is_none_is_refused_at_once(
    tmp_path: Path, status: int, headers: dict[str, str], body: bytes, words: str
) -> None:
    web = Web(lambda method, path: (status, headers, body))
    fault = fault_at(f"{web.url}/mcp", tmp_path)
    assert words in fault
    assert len(fault) < 300
    web.close()


def test_an_answer_of_100_megabytes_is_refused(tmp_path: Path) -> None:
    body = b" " * (100 << 20)
    web = Web(lambda method, path: (200, {"content-type": "application/json"}, body))
    assert "passes 64 MiB" in fault_at(f"{web.url}/mcp", tmp_path)
    web.close()


def test_a_packed_answer_is_refused(tmp_path: Path) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    web = Web(lambda method, path: (200, headers, gzip.compress(b" " * 1_000_000)))
    assert fault_at(f"{web.url}/mcp", tmp_path)
    web.close()


def test_oauth_does_not_lead_to_other_addresses_of_this_machine(tmp_path: Path) -> None:
    inner = Web(lambda method, path: (200, {"content-type": "application/json"}, b"{}"))

    def answer(method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        if path.startswith("/.well-known/oauth-protected-resource"):
            told = {"resource": f"{web.url}/mcp", "authorization_servers": [inner.url]}
            return 200, {"content-type": "application/json"}, json.dumps(told).encode()
        return 401, {"www-authenticate": "Bearer"}, b""

    web = Web(answer)
    fault = fault_at(f"{web.url}/mcp", tmp_path, oauth=True)
    assert "only public addresses can be asked" in fault
    assert inner.asked == []
    web.close()
    inner.close()


def test_a_sign_in_waits_for_a_person_at_the_command(tmp_path: Path) -> None:
    def answer(method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        kind = {"content-type": "application/json"}
        if path.startswith("/.well-known/oauth-protected-resource"):
            told = {"resource": f"{web.url}/mcp", "authorization_servers": [web.url]}
            return 200, kind, json.dumps(told).encode()
        if path.startswith("/.well-known/oauth-authorization-server"):
            ends = {name: f"{web.url}/{name}" for name in ("authorization", "token")}
            told = {
                "issuer": web.url,
                "response_types_supported": ["code"],
                "registration_endpoint": f"{web.url}/register",
                "code_challenge_methods_supported": ["S256"],
                **{f"{name}_endpoint": url for name, url in ends.items()},
            }
            return 200, kind, json.dumps(told).encode()
        if path == "/register":
            told = {
                "client_id": "c",
                "redirect_uris": ["http://127.0.0.1:1/callback"],
                "token_endpoint_auth_method": "none",
            }
            return 201, kind, json.dumps(told).encode()
        return 401, {"www-authenticate": "Bearer"}, b""

    web = Web(answer)
    assert "callblocks mcp test far" in fault_at(f"{web.url}/mcp", tmp_path, oauth=True)
    assert "POST /token" not in web.asked
    web.close()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://a b/", "ftp://x/", "http://"])
def test_an_address_that_is_none_is_a_mistake_of_the_file(url: str) -> None:
    with pytest.raises(CallerError, match="url"):
        parse_servers(f"[servers.far]\nurl = {json.dumps(url)}\n")


def test_a_header_cannot_bring_another(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="no header"):
        parse_servers('[servers.far]\nurl = "http://a/"\nheaders = {x = "1\\r\\ny: 2"}\n')
