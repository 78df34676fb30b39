"""Servers that a person configured, in our TOML or in `mcpServers` JSON, and how ours is served.

    [servers.git]                              {"mcpServers": {
    command = "uvx"                                "git": {"command": "uvx",
    args = ["mcp-server-git"]                              "args": ["mcp-server-git"]}}}
    read = ["/home/me/src"]

    [servers.tracker]
    url = "https://tracker.example/mcp"
    headers_env = {authorization = "TRACKER_AUTH"}
    oauth = true

The file of `callblocks mcp add` is `mcp.toml` beside the config file. A file in a workspace is
never read by itself: whoever can write there could start programs.

A name is the first half of the names of the server's tools: `git.git_log`. So two servers of one
name, names that differ in their case only, and names of our own toolkits are refused.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from callblocks.core.errors import CallerError, ToolError
from callblocks.core.text import brief
from callblocks.core.toml_text import parse_toml
from callblocks.core.urls import read_url
from callblocks.guard.net.addresses import read_allowed
from callblocks.protocols.mcp.tool_server import ToolServer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = (
    "HttpSettings",
    "OAuth",
    "ServerEntry",
    "add_entry",
    "http_app",
    "kept_key",
    "merge_entries",
    "parse_servers",
    "read_servers",
    "remove_entry",
    "serve_http",
    "serve_stdio",
    "servers_path",
    "write_servers",
)

_LARGEST = 1_000_000
_MOST = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
# First halves of names of our own tools; a person would take a server's tool for one of ours.
_OURS = frozenset(("web_tools", "exec_tools", "rendering_tools", "react", "custom", "callblocks"))
_HTTP_TYPES = ("http", "streamable-http", "streamable_http", "streamableHttp")


class OAuth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings to sign in to a server.

    Without `client_id`, the client registers itself there, and a person signs in with a browser.
    With `client_secret_env`, it signs in by itself.
    """

    client_id: str = ""
    client_secret_env: str = ""
    scope: str = ""


class ServerEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One configured server: a command that is started here, or a URL.

    A command starts with `env` and the variables of `env_from` (name there: name here), and with
    nothing else of our environment. In the sandbox it sees its own program, `read` and, to write,
    `write`, and has the network only with `network`; `sandbox = false` starts it outside. `folder`
    is where it starts.

    A URL is reached with `headers`, and those of `headers_env` from our environment. `allow` opens
    further addresses (`host:port`) of a network that is not public, such as that of its sign-in.

    `tools` restricts its tools, by names or patterns. `read_only` lists tools of which the person
    says that they change nothing: a server's own word for that counts for nothing. `timeout` is in
    seconds, for one call, without the time in which a person is asked.
    """

    name: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    env_from: dict[str, str] = {}
    folder: str = ""
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: bool | None = None
    sandbox: bool = True
    url: str = ""
    headers: dict[str, str] = {}
    headers_env: dict[str, str] = {}
    oauth: bool | OAuth = False
    allow: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    timeout: float = 60.0
    enabled: bool = True

    @property
    def is_http(self) -> bool:
        """Return whether the server is reached over HTTP."""
        return bool(self.url)

    @property
    def shown(self) -> str:
        """Return what a person recognises the server by, without secrets."""
        if self.url:
            return self.url.partition("?")[0]
        return " ".join((self.command, *self.args))

    def environment(self) -> dict[str, str]:
        """Return the variables that its process gets beside those that every program needs."""
        return {**self.env, **_from_environment(self.name, self.env_from)}

    def all_headers(self) -> dict[str, str]:
        """Return the headers of its requests; those of `headers_env` from our environment."""
        return {**self.headers, **_from_environment(self.name, self.headers_env)}


def servers_path() -> Path:
    """Return the path of the person's own file: `mcp.toml` beside the config file."""
    from callblocks.models.model_config import config_path

    path = config_path()
    if path is None:
        raise CallerError("there is no home folder; name a file in CALLBLOCKS_CONFIG")
    return path.with_name("mcp.toml")


def read_servers(path: str | os.PathLike[str]) -> tuple[ServerEntry, ...]:
    """Read the servers of one file; a file that is not there has none."""
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise CallerError(f"{os.fspath(path)}: {error.strerror}") from error
    if len(content) > _LARGEST:
        raise CallerError(f"{os.fspath(path)}: it has more than {_LARGEST:,} bytes")
    try:
        return parse_servers(content.decode("utf-8-sig"), os.fspath(path))
    except UnicodeDecodeError as error:
        raise CallerError(f"{os.fspath(path)}: not UTF-8 text") from error


def parse_servers(text: str, name: str = "") -> tuple[ServerEntry, ...]:
    """Return the servers of a text, which is JSON where it begins with a brace."""
    if text.lstrip().startswith("{"):
        return _parse_json(text, name)
    return parse_toml(text, "file of MCP servers", name, _from_toml)


def merge_entries(*files: Iterable[ServerEntry]) -> tuple[ServerEntry, ...]:
    """Return the servers of several files; a name that comes twice is refused."""
    merged: dict[str, ServerEntry] = {}
    for entry in (entry for file in files for entry in file):
        known = merged.setdefault(entry.name.lower(), entry)
        if known is not entry:
            raise CallerError(
                f"two MCP servers are named {entry.name}: {brief(known.shown)} and "
                f"{brief(entry.shown)}; rename one of them"
            )
    if len(merged) > _MOST:
        raise CallerError(f"there are more than {_MOST} MCP servers")
    return tuple(merged.values())


def add_entry(entries: Iterable[ServerEntry], entry: ServerEntry) -> tuple[ServerEntry, ...]:
    """Return the servers with one more, which is checked as one of a file is."""
    return merge_entries(entries, (_checked(entry),))


def remove_entry(entries: Iterable[ServerEntry], name: str) -> tuple[ServerEntry, ...]:
    """Return the servers without the one of a name; raise `CallerError` if it is not there."""
    known = tuple(entries)
    if all(entry.name != name for entry in known):
        names = ", ".join(entry.name for entry in known) or "none"
        raise CallerError(f"no MCP server is named {brief(name)}; there are: {names}")
    return tuple(entry for entry in known if entry.name != name)


def write_servers(path: Path, entries: Iterable[ServerEntry]) -> None:
    """Write the person's own file whole, or not at all; only its owner may read it."""
    from callblocks.guard.files.replace_file import replace_private

    tables: list[str] = []
    for entry in entries:
        fields = {
            key: value
            for key, value in msgspec.to_builtins(entry).items()
            if key != "name" and value != _DEFAULTS[key]
        }
        lines = [f"{key} = {_toml(value)}" for key, value in fields.items()]
        tables.append("\n".join((f"[servers.{entry.name}]", *lines)))
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_private(path, ("\n\n".join(tables) + "\n").encode())


_DEFAULTS = msgspec.to_builtins(ServerEntry())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return "{" + ", ".join(f"{_quoted(key)} = {_toml(item)}" for key, item in fields) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in cast("list[Any]", value)) + "]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    # A basic string of TOML has the escapes of JSON, but DEL is escaped, too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


# --- Our TOML: whatever is not understood is an error ---


def _from_toml(tables: dict[str, Any]) -> tuple[ServerEntry, ...]:
    if odd := [key for key in tables if key != "servers"]:
        raise CallerError(f"{brief(odd[0])} is no part of it; servers stand in [servers.NAME]")
    servers = tables.get("servers", {})
    if not isinstance(servers, dict):
        raise CallerError("servers stand in [servers.NAME]")
    return merge_entries(
        _entry(name, table) for name, table in cast("dict[str, Any]", servers).items()
    )


def _entry(name: str, table: Any) -> ServerEntry:
    where = f"servers.{name}"
    if not isinstance(table, dict) or "name" in table:
        raise CallerError(f"{where}: a server is a table of settings; its name is in the header")
    try:
        entry = msgspec.convert({**cast("dict[str, Any]", table), "name": name}, ServerEntry)
    except msgspec.ValidationError as error:
        raise CallerError(f"{where}: {error}") from error
    return _checked(entry)


# --- The JSON of other programs: their further keys are ignored ---
#
# `alwaysAllow`, `autoApprove` and `trust` are such keys: only a policy lets calls run here.


def _parse_json(text: str, name: str) -> tuple[ServerEntry, ...]:
    where = f"{name}: " if name else ""
    try:
        given = cast("dict[str, Any]", json.loads(text, object_pairs_hook=_unique))
        servers = given.get("mcpServers", given.get("servers"))
        if not isinstance(servers, dict):
            raise CallerError("no `mcpServers` in it")
        pairs = cast("dict[str, Any]", servers).items()
        return merge_entries(_foreign_entry(name, table) for name, table in pairs)
    except CallerError as error:
        raise CallerError(f"{where}{error}") from error
    except (ValueError, RecursionError) as error:
        raise CallerError(f"{where}not JSON: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise CallerError(f"{brief(twice)} stands in it twice")
    return made


def _foreign_entry(name: str, table: Any) -> ServerEntry:
    if not isinstance(table, dict):
        raise CallerError(f"{brief(name)}: a server is an object")
    given = cast("dict[str, Any]", table)
    kind = given.get("type", given.get("transport"))
    if kind == "sse":
        raise CallerError(f"{name}: servers of type sse are of the past; ask it over http")
    if kind not in (None, "stdio", *_HTTP_TYPES):
        raise CallerError(f"{name}: {brief(kind)} is no type; stdio and http are")
    known = {key: given[key] for key in _TAKEN if key in given}
    known = {_RENAMED.get(key, key): _expanded(name, value) for key, value in known.items()}
    if "disabled" in given or "enabled" in given:
        known["enabled"] = given.get("enabled", not given.get("disabled", False))
    return _entry(name, known)


_RENAMED = {"cwd": "folder", "serverUrl": "url", "httpUrl": "url"}
_TAKEN = (
    *("command", "args", "env", "url", "headers", *_RENAMED),
    *("read", "write", "network", "sandbox", "tools", "read_only", "oauth"),
)


def _expanded(name: str, value: Any) -> Any:
    """Return a value with `${VARIABLE}` and `${VARIABLE:-default}` replaced in its texts."""

    def variable(match: re.Match[str]) -> str:
        default = cast("str | None", match[2])
        known = os.environ.get(match[1], default)
        if known is None:
            raise CallerError(f"{name}: the variable {match[1]} is not set")
        return known

    if isinstance(value, str):
        return _VARIABLE.sub(variable, value)
    if isinstance(value, list):
        return [_expanded(name, item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return {key: _expanded(name, item) for key, item in fields}
    return value


# --- What every entry must be, wherever it stands ---


def _checked(entry: ServerEntry) -> ServerEntry:
    if not _NAME.fullmatch(entry.name):
        raise CallerError(
            f"{brief(entry.name)} is no name for a server; use up to 40 letters, digits, - and _"
        )
    if fault := next(_faults(entry), ""):
        raise CallerError(f"{entry.name}: {fault}")
    return entry


def _faults(entry: ServerEntry) -> Iterator[str]:
    if entry.name.lower() in _OURS:
        yield "the name is one of our own tools; choose another"
    if bool(entry.command) == bool(entry.url):
        yield "a server has a `command` or a `url`, and not both"
    if entry.url:
        yield from _url_faults(entry)
    elif entry.headers or entry.headers_env or entry.oauth:
        yield "headers and oauth are for a `url`"
    if not 0 < entry.timeout <= 3600:
        yield "`timeout` is up to 3600 seconds"
    texts = (entry.command, *entry.args, *entry.env.values(), *entry.read, *entry.write)
    if any("\0" in text for text in texts):
        yield "a NUL character is in it"
    names = (*entry.env, *entry.env_from, *entry.env_from.values(), *entry.headers_env.values())
    if odd := [name for name in names if not _ENV_NAME.fullmatch(name)]:
        yield f"{brief(odd[0])} is no name of a variable"


def _url_faults(entry: ServerEntry) -> Iterator[str]:
    try:
        read_url(entry.url)
    except ToolError as error:
        yield f"`url`: {error.message}"
    try:
        read_allowed(entry.allow)
    except CallerError as error:
        yield f"`allow`: {error}"
    for name, value in entry.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not value.isprintable():
            yield f"{brief(name)} is no header"
    if any(not _HEADER_NAME.fullmatch(name) for name in entry.headers_env):
        yield "`headers_env` maps names of headers to variables"


def _from_environment(server: str, named: Mapping[str, str]) -> dict[str, str]:
    if missing := [variable for variable in named.values() if variable not in os.environ]:
        raise ToolError("bad_setting", f"{server}: the variable {missing[0]} is not set")
    return {name: os.environ[variable] for name, variable in named.items()}


# --- How our MCP server is served: over standard input and output, or over HTTP with a token ---
#
#     stdio    one client, which started us; standard output carries messages and nothing else
#     http     POST /mcp on one address; every request carries `Authorization: Bearer …`, and Host
# and
#              Origin are checked, so that no page of a browser reaches it
#
# The sealing key lies in the state folder, for its owner alone, or comes from `CALLBLOCKS_MCP_KEY`
# where replicas on several machines are to share it.

KEY = "CALLBLOCKS_MCP_KEY"
_FILE = "mcp-key"
_BYTES = 32
_LARGEST_BODY = 4 << 20


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a server, and what its clients send. `names` are further names of the host."""

    host: str = "127.0.0.1"
    port: int = 8766
    token: str
    names: tuple[str, ...] = ()


def kept_key(state: Path) -> bytes:
    """Return the sealing key: of the environment, of the state folder, or a new one there."""
    if given := os.environ.get(KEY):
        if len(given) < _BYTES:
            raise CallerError(f"{KEY} is shorter than {_BYTES} characters")
        return given.encode()
    file = state / _FILE
    try:
        made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        kept = file.read_bytes()
        if len(kept) != _BYTES or file.stat().st_mode & 0o077:
            raise CallerError(f"{file} is no key of its owner alone; remove it") from None
        return kept
    with os.fdopen(made, "wb") as opened:
        key = secrets.token_bytes(_BYTES)
        opened.write(key)
    return key


def serve_stdio(server: ToolServer, key: bytes) -> None:
    """Serve the client that started us, until it closes our input."""
    import asyncio

    from mcp.server.stdio import stdio_server

    async def run() -> None:
        sdk = server.sdk_server(key)
        async with stdio_server() as (incoming, outgoing):
            # What a tool prints must not get among the messages.
            with redirect_stdout(sys.stderr):
                await sdk.run(incoming, outgoing, sdk.create_initialization_options())

    asyncio.run(run())


def http_app(server: ToolServer, key: bytes, settings: HttpSettings) -> ASGIApp:
    """Return the application that answers at /mcp."""
    from mcp.server.transport_security import TransportSecuritySettings

    own = ("127.0.0.1", "localhost", "[::1]", settings.host, *settings.names)
    hosts = [name for host in dict.fromkeys(own) for name in (host, f"{host}:*")]
    sdk = server.sdk_server(key)
    app = sdk.streamable_http_app(
        stateless_http=True,
        json_response=False,
        max_request_body_size=_LARGEST_BODY,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=hosts,
            allowed_origins=[
                f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")
            ],
        ),
    )
    return _TokenCheck(app, settings.token)


class _TokenCheck:
    """Lets requests with the token pass."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_known(scope["headers"]):
            from starlette.responses import JSONResponse

            words = {"error": "unauthorized", "message": "send Authorization: Bearer TOKEN"}
            refusal = JSONResponse(words, 401, {"www-authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, headers: list[tuple[bytes, bytes]]) -> bool:
        given = [value for name, value in headers if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)


def serve_http(
    server: ToolServer, key: bytes, settings: HttpSettings, said: Callable[[str], None]
) -> None:
    """Serve over HTTP until Ctrl-C; `said` is called with the address."""
    import asyncio

    import uvicorn

    from callblocks.guard.net.addresses import address_of, listen_at

    with listen_at(settings.host, settings.port) as bound:
        said(f"{address_of(bound)}/mcp")
        config = uvicorn.Config(
            http_app(server, key, settings), log_level="warning", server_header=False
        )
        asyncio.run(_serve(uvicorn.Server(config), [bound]))


async def _serve(server: Any, sockets: list[Any]) -> None:
    await server.serve(sockets=sockets)
