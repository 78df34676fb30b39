"""`callblocks mcp`: the servers whose tools are known here, and our tools for other programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Unpack

import click
import msgspec

from callblocks.cli.exits import EXIT_CODES, PROBLEMS, Fault, say
from callblocks.cli.options.tool_setup import (
    PolicyOptions,
    WorkplaceOptions,
    policy_options,
    workplace_options,
)
from callblocks.cli.terminal.paint import Paper
from callblocks.views.rows import Bit, Row, visible_line, wrap

if TYPE_CHECKING:
    from callblocks.protocols.mcp.server_link import McpServers, ServerReport, ToolReport
    from callblocks.protocols.mcp.servers import ServerEntry

__all__ = ("command",)

_ABOUT = 100


class ServeOptions(PolicyOptions, WorkplaceOptions):
    """Values of the options of policies and of the workplace."""


@click.group(
    "mcp",
    short_help="Add, list and test MCP servers, or be one.",
    invoke_without_command=True,
    epilog=EXIT_CODES,
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Add, list and test MCP servers, or be one; alone, as `callblocks mcp list`.

    Servers stand in mcp.toml beside the config file. Their tools are known to every chat as
    SERVER.TOOL, and run as far as the policy lets them: like any other, and never on the word of
    their server.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_servers, as_json=False)


@command.command("list", short_help="List the servers and their tools.")
@click.option("--json", "as_json", is_flag=True, help="One object for each server, one per line.")
def list_servers(as_json: bool) -> None:
    """List the servers and their tools, as they were seen last; none is started for this."""
    servers = _servers()
    _show([] if servers is None else servers.reports(), as_json)


@command.command("test", short_help="Connect to a server, and say what it offers now.")
@click.argument("name")
@click.option(
    "--accept", is_flag=True, help="Take over what changed: from now on it is what was seen."
)
@click.option("--json", "as_json", is_flag=True, help="One object with all that was found out.")
def test_server(name: str, accept: bool, as_json: bool) -> None:
    """Connect to a server now, and say what it offers; sign in to it, if it wants that.

    A tool that changed since it was seen first is named. A chat asks before it is called, or
    --accept takes it over. There is exit code 1 where the server cannot be used.
    """
    servers = _servers(signs_in=True)
    if servers is None or name not in servers.names:
        known = ", ".join(servers.names) if servers is not None else "none"
        raise Fault(f"no MCP server is named {name}; there are: {known}")
    report = servers.test(name, accept=accept)
    servers.close()
    _show([report], as_json)
    if report.fault:
        raise click.exceptions.Exit(PROBLEMS)


@command.command("add", short_help="Add a server: a command, a URL, or a file of another program.")
@click.argument("name", required=False)
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", default="", help="The address of a server that is asked over HTTP.")
@click.option("--oauth", is_flag=True, help="Sign in to it with a browser.")
@click.option(
    "--header-env",
    multiple=True,
    metavar="NAME=VARIABLE",
    help="Send a header with the value of a variable; may be given again.",
)
@click.option(
    "--env-from",
    multiple=True,
    metavar="NAME=VARIABLE",
    help="Give the command a variable of this environment, which else it has none of.",
)
@click.option(
    "--read", multiple=True, metavar="FOLDER", help="Let the command read a folder or file."
)
@click.option("--write", multiple=True, metavar="FOLDER", help="Let it write a folder, too.")
@click.option("--network/--no-network", default=None, help="Give it the network, or not.")
@click.option("--no-sandbox", is_flag=True, help="Start it outside of the sandbox.")
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False),
    help="Add all servers of a file, as Claude Desktop, Cursor and others have it.",
)
def add_server(name: str | None, argv: tuple[str, ...], **given: Any) -> None:
    """Add a server: a command after --, a --url, or all servers of a file with --from.

    Each is then connected to, so that you see its tools: callblocks mcp add git -- uvx
    mcp-server-git
    """
    from callblocks.protocols.mcp.servers import (
        add_entry,
        merge_entries,
        read_servers,
        servers_path,
        write_servers,
    )

    path = servers_path()
    known = read_servers(path)
    if source := given.pop("source"):
        if name:
            raise click.UsageError("--from has the names; give none")
        added = read_servers(source)
        entries = merge_entries(known, added)
    else:
        entry = _entry(name, argv, given)
        added = (entry,)
        entries = add_entry(known, entry)
    write_servers(path, entries)
    servers = _servers(signs_in=True)
    assert servers is not None
    reports = [servers.test(one.name) for one in added if one.enabled]
    servers.close()
    _show(reports, as_json=False)
    say(f"{len(added)} added to {path}")


@command.command("remove", short_help="Remove a server, and forget what its tools were.")
@click.argument("name")
def remove_server(name: str) -> None:
    """Remove a server from the file, and forget what its tools were."""
    from callblocks.protocols.mcp.servers import (
        read_servers,
        remove_entry,
        servers_path,
        write_servers,
    )

    path = servers_path()
    servers = _servers()
    write_servers(path, remove_entry(read_servers(path), name))
    if servers is not None:
        servers.pins.forget(name)


@command.command("serve", short_help="Give the tools to another program, under the policy.")
@policy_options
@workplace_options
@click.option("--timeline", metavar="NAME", help="Write each call down on this timeline.")
@click.option(
    "--trust-client",
    is_flag=True,
    help="Take it that the client has read nothing of others: then an allow suffices.",
)
@click.option("--http", "over_http", is_flag=True, help="Serve over HTTP, not to who started it.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address of --http.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8766,
    show_default=True,
    help="The port of --http; 0 for one that is free.",
)
@click.option(
    "--token",
    envvar="CALLBLOCKS_TOKEN",
    default="",
    help="What clients of --http send as `Authorization: Bearer …`.  [environment:"
    " CALLBLOCKS_TOKEN; default: one that is made once, and kept in the state folder]",
)
def serve_tools(
    timeline: str | None,
    trust_client: bool,
    over_http: bool,
    host: str,
    port: int,
    token: str,
    **options: Unpack[ServeOptions],
) -> None:
    """Give the tools of callblocks to another program, such as Claude Code or Codex.

    Without --http the program starts this command, and speaks with it over standard input and
    output. With none of --ask, --allow, --allow-trait and --policy no call runs. What the policy
    asks is asked by the program, or with callblocks approvals.
    """
    from contextlib import ExitStack

    from callblocks.approvals.book import ApprovalBook
    from callblocks.cli.options.state_folder import (
        APPROVALS,
        ARTIFACTS,
        JOURNAL,
        kept_token,
        state_folder,
    )
    from callblocks.cli.options.tool_setup import (
        check_names,
        code_files,
        given_office,
        given_policy,
        open_workspace,
        own_tools,
    )
    from callblocks.protocols.mcp.servers import (
        HttpSettings,
        kept_key,
        serve_http,
        serve_stdio,
    )
    from callblocks.protocols.mcp.tool_server import ToolServer, Workshop
    from callblocks.runtime.journal import Journal
    from callblocks.timeline.artifacts.artifacts import Artifacts
    from callblocks.toolkits.turn_files import open_recorder

    state, policy = state_folder(), given_policy(options)
    with ExitStack() as stack:
        steering = (options["policy"], *code_files(options["workspace"]))
        root = stack.enter_context(open_workspace(options["workspace"], *steering))
        registry = own_tools(root, given_office(options["office"]))
        registry = registry.only(options["only"]) if options["only"] else registry
        check_names(options, registry.names)
        journal = Journal(state / JOURNAL)
        stack.callback(journal.close)
        place = Workshop(
            book=stack.enter_context(ApprovalBook(state / APPROVALS)),
            journal=journal,
            artifacts=Artifacts(state / ARTIFACTS),
            root=root,
            recorder=stack.enter_context(open_recorder(state, timeline)) if timeline else None,
        )
        server = ToolServer(registry, policy, place, trusts_client=trust_client)
        if not policy.enabled:
            say("no call runs: give --ask, --allow, --allow-trait or --policy")
        if over_http:
            settings = HttpSettings(host=host, port=port, token=token or kept_token(state))
            serve_http(server, kept_key(state), settings, say)
        else:
            serve_stdio(server, kept_key(state))


def _entry(name: str | None, argv: tuple[str, ...], given: dict[str, Any]) -> ServerEntry:
    from callblocks.protocols.mcp.servers import ServerEntry

    if not name:
        raise click.UsageError("a server has a name")
    return ServerEntry(
        name=name,
        command=argv[0] if argv else "",
        args=argv[1:],
        url=given["url"],
        oauth=given["oauth"],
        headers_env=_pairs("--header-env", given["header_env"]),
        env_from=_pairs("--env-from", given["env_from"]),
        read=given["read"],
        write=given["write"],
        network=given["network"],
        sandbox=not given["no_sandbox"],
    )


def _pairs(option: str, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    if odd := [name for name, equals, value in pairs if not (name and equals and value)]:
        raise click.UsageError(f"{option} takes NAME=VARIABLE, not {odd[0]}")
    return {name: value for name, _, value in pairs}


def _servers(*, signs_in: bool = False) -> McpServers | None:
    from callblocks.cli.options.tool_setup import open_mcp

    if not signs_in:
        return open_mcp()
    from callblocks.protocols.mcp.http_transport import BrowserSignIn

    return open_mcp(BrowserSignIn(lambda url: say(f"open this to sign in: {url}")))


def _show(reports: list[ServerReport], as_json: bool) -> None:
    if as_json:
        sys.stdout.buffer.write(b"".join(msgspec.json.encode(one) + b"\n" for one in reports))
        return
    paper = Paper()
    if not reports:
        paper.print([(("plain", "No MCP server is configured: callblocks mcp add --help"),)])
    for report in reports:
        paper.print(list(_rows(report, paper.width)))


def _rows(report: ServerReport, width: int) -> list[Row]:
    facts = [report.state, report.version, "sandboxed" if report.sandboxed else ""]
    head: list[Bit] = [("name", report.name), ("plain", f"  {report.shown}")]
    head.append(("quiet", f"  {', '.join(filter(None, facts))}"))
    rows = _wrapped(head, width)
    if report.fault:
        rows += _wrapped([("plain", "  "), ("warning", report.fault)], width)
    for tool in report.tools:
        rows += _wrapped([("plain", "  "), *_tool(tool)], width)
    return rows


def _tool(tool: ToolReport) -> list[Bit]:
    about = f"{tool.description[:_ABOUT]}…" if len(tool.description) > _ABOUT else tool.description
    bits: list[Bit] = [("code", tool.name)]
    if tool.state != "ready":
        bits.append(("warning", f" ({tool.state})"))
    return [*bits, ("plain", f"  {tool.reason or about}")]


def _wrapped(bits: list[Bit], width: int) -> list[Row]:
    row: Row = tuple((kind, visible_line(text)) for kind, text in bits)
    return wrap(row, width, (("plain", "      "),))
