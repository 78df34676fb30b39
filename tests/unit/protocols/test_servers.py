"""Files of MCP servers: our TOML, and the JSON of other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.errors import CallerError, ToolError
from callblocks.protocols.mcp.launch import Launch
from callblocks.protocols.mcp.servers import (
    OAuth,
    ServerEntry,
    add_entry,
    parse_servers,
    read_servers,
    remove_entry,
    write_servers,
)

TOML = """
[servers.git]
command = "uvx"
args = ["mcp-server-git"]
read = ["/home/me/src"]
read_only = ["git_log"]

[servers.tracker]
url = "https://tracker.example/mcp?key=1"
headers_env = {authorization = "TRACKER_AUTH"}
oauth = {client_id = "me", scope = "read"}
"""


def test_toml_says_all_of_a_server() -> None:
    git, tracker = parse_servers(TOML)
    assert (git.command, git.args, git.read_only) == ("uvx", ("mcp-server-git",), ("git_log",))
    assert (git.is_http, tracker.is_http) == (False, True)
    assert tracker.oauth == OAuth(client_id="me", scope="read")
    # A key in an address is not shown.
    assert tracker.shown == "https://tracker.example/mcp"


def test_json_of_other_programs_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES", "/notes")
    servers = {
        "notes": {
            "type": "stdio",
            "command": "npx",
            "args": ["-y", "notes", "${NOTES}", "${NONE:-x}"],
            "cwd": "/tmp",
            "disabled": True,
            "alwaysAllow": ["x"],
        },
        "far": {"type": "http", "url": "https://a.example/mcp", "headers": {"x": "1"}},
    }
    notes, far = parse_servers(json.dumps({"mcpServers": servers}))
    assert notes.args == ("-y", "notes", "/notes", "x")
    assert (notes.folder, notes.enabled, far.headers) == ("/tmp", False, {"x": "1"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[server.a]\ncommand = 'x'", "no part of it"),
        ("[servers.a]\nargs = []", "a `command` or a `url`"),
        ("[servers.a]\ncommand = 'x'\nurl = 'http://a/'", "and not both"),
        ("[servers.a]\ncommand = 'x'\nheaders = {a = 'b'}", "for a `url`"),
        ("[servers.a]\ncommand = 'x'\ncomand = 'y'", "comand"),
        ("[servers.a]\ncommand = 'x'\ntimeout = 0", "3600"),
        ("[servers.a]\ncommand = 'x'\nenv = {'a b' = 'c'}", "no name of a variable"),
        ("[servers]\na = 1", "a table"),
        ("[servers.a]\nname = 'b'\ncommand = 'x'", "in the header"),
        ("servers = 1", "SERVERS".lower()),
        ('{"mcpServers": 1}', "no `mcpServers`"),
        ("{", "not JSON"),
        ('{"mcpServers": {"a": 1}}', "is an object"),
        ('{"mcpServers": {"a": {"type": "sse", "url": "http://a/"}}}', "of the past"),
        ('{"mcpServers": {"a": {"type": "x"}}}', "no type"),
        ('{"mcpServers": {"a": {"command": "${NOT_SET_ANYWHERE}"}}}', "not set"),
    ],
)
def test_what_is_not_understood_is_an_error(text: str, words: str) -> None:
    with pytest.raises(CallerError, match=words):
        parse_servers(text, "mcp.toml")


def test_writing_and_reading_give_the_same(tmp_path: Path) -> None:
    odd: dict[str, Any] = {"env": {"A": 'a "quoted"\n\x7f \\ value'}, "args": ("--x", "ä")}
    entries = (*parse_servers(TOML), ServerEntry(name="odd", command="x", network=False, **odd))
    write_servers(tmp_path / "here" / "mcp.toml", entries)
    assert read_servers(tmp_path / "here" / "mcp.toml") == entries
    assert (tmp_path / "here" / "mcp.toml").stat().st_mode & 0o077 == 0


def test_servers_are_added_and_removed() -> None:
    entries = parse_servers(TOML)
    more = add_entry(entries, ServerEntry(name="time", command="uvx"))
    assert [entry.name for entry in more] == ["git", "tracker", "time"]
    with pytest.raises(CallerError, match="two MCP servers"):
        add_entry(more, ServerEntry(name="TIME", command="uvx"))
    assert remove_entry(more, "time") == entries
    with pytest.raises(CallerError, match="there are: git, tracker"):
        remove_entry(entries, "time")


def test_no_file_has_no_servers(tmp_path: Path) -> None:
    assert read_servers(tmp_path / "none.toml") == ()
    with pytest.raises(CallerError):
        read_servers(tmp_path)


def test_a_variable_that_is_not_set_is_named() -> None:
    entry = ServerEntry(name="a", command="x", env_from={"A": "NOT_SET_ANYWHERE"})
    with pytest.raises(ToolError, match="NOT_SET_ANYWHERE"):
        entry.environment()


def test_a_package_launcher_gets_the_network_and_others_do_not(tmp_path: Path) -> None:
    npx = tmp_path / "npx"
    npx.write_text("#!/bin/sh\n")
    npx.chmod(0o755)
    launches = [
        Launch.of(ServerEntry(name="a", command=str(command)), tmp_path / "home", "/bwrap", ())
        for command in (npx, "/bin/sh")
    ]
    assert [one.network for one in launches] == [True, False]
    assert launches[0].folder == "/home/user"


def test_a_launch_shows_a_program_and_nothing_beside_it(tmp_path: Path) -> None:
    script = tmp_path / "x" / "node_modules" / "server" / "index.js"
    script.parent.mkdir(parents=True)
    script.write_text("")
    args = (str(script), "/", str(Path.home()), "/etc")
    entry = ServerEntry(name="a", command="/bin/sh", args=args)
    launch = Launch.of(entry, tmp_path / "home", "/bwrap", ())
    assert launch.read == (str(tmp_path / "x" / "node_modules"),)
