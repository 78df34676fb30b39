"""The workspace that tools work in, its office, and every tool there is in it.

-w FOLDER           what files and commands are kept to
--office google     mail, events and the like are at Google, not in the folder `office/` there
--only 'gmail_*'    no other tools are known
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar

import click
from click.shell_completion import CompletionItem

from callblocks.cli.exits import Fault, say
from callblocks.core.errors import BadSpec, BadTool
from callblocks.core.specs import ToolSpec

if TYPE_CHECKING:
    from callblocks.guard.files.root import Root
    from callblocks.policy.policy import Policy
    from callblocks.protocols.mcp.http_transport import BrowserSignIn
    from callblocks.protocols.mcp.server_link import McpServers
    from callblocks.toolkits.office.backend import Office
    from callblocks.tools.registry import Registry

__all__ = (
    "SAMPLE_TOOLS",
    "TOOL_FILES",
    "DecidingOptions",
    "PolicyOptions",
    "Tools",
    "WorkplaceOptions",
    "check_names",
    "code_files",
    "deciding_options",
    "every_tool",
    "given_office",
    "given_policy",
    "office_option",
    "open_mcp",
    "open_workspace",
    "own_tools",
    "policy_options",
    "tools_option",
    "workplace_options",
    "workspace_option",
)

# --- Tools as an argument: a Python file that declares them, or a JSON file that describes them
# ---
#
# -T tools.py        functions with `@tool`: they can be called
# -T tools.json      OpenAI's `tools` list: enough to read and to teach, not to run

TOOL_FILES = "callblocks.tool_files"
"""Where a command finds the files of -T in its context."""

Tools: TypeAlias = "Registry | tuple[ToolSpec, ...]"
"""The tools of one or more files; or a tuple, where no file was given."""


class ToolsFile(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] generic only in click 8.4 and later
    """A file that is read, or run, when the arguments are."""

    name = "file"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Registry:
        if ctx is not None:
            ctx.meta.setdefault(TOOL_FILES, []).append(value)
        try:
            return _read(value)
        except OSError as error:
            self.fail(f"{value}: {error.strerror}", param, ctx)
        except (BadSpec, BadTool, ValueError, RecursionError) as error:
            self.fail(f"{value}: {error}".replace(f"{value}: {value}", value), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return click.Path(dir_okay=False).shell_complete(ctx, param, incomplete)


def tools_option(about: str, standard: tuple[ToolSpec, ...] = ()) -> Callable[[F], F]:
    """Add `-T`, which may be given again; `standard` are the tools where it is not."""

    def merge(ctx: click.Context, param: click.Parameter, value: tuple[Registry, ...]) -> Tools:
        if not value:
            return standard
        try:
            return reduce(lambda known, more: known | more, value)
        except BadTool as error:
            raise click.BadParameter(str(error)) from error

    return click.option(
        "--tools",
        "-T",
        multiple=True,
        type=ToolsFile(),
        callback=merge,
        help=f"{about} A Python file that declares them, or a JSON list; may be given again.",
    )


def _read(path: str) -> Registry:
    from callblocks.tools.registry import Registry

    if path.endswith(".py"):
        # What a file prints when it is loaded is no part of what a command prints.
        with redirect_stdout(sys.stderr):
            return Registry.from_module(path)
    with open(path, encoding="utf-8-sig") as file:
        return Registry.from_json(json.load(file))


def _tool(name: str, about: str, body: str | None = None, **properties: dict[str, Any]) -> ToolSpec:
    required = [key for key, schema in properties.items() if "default" not in schema]
    schema = {"type": "object", "properties": properties, "required": required}
    return ToolSpec(name, about, schema, body)


SAMPLE_TOOLS = (
    _tool(
        "web_search",
        "Search the web.",
        query={"type": "string", "description": "what to look for", "examples": ["tide tables"]},
        limit={"type": "integer", "description": "how many results", "default": 5},
    ),
    _tool(
        "read_file",
        "Read a text file.",
        path={"type": "string", "description": "the file", "examples": ["notes/today.md"]},
    ),
    _tool(
        "write_file",
        "Write a text file.",
        "content",
        path={"type": "string", "description": "the file", "examples": ["notes/today.md"]},
        content={"type": "string", "description": "all of its text"},
    ),
)
"""What `callblocks dialects NAME` shows a dialect with, where no tools are given."""


# --- The workspace that tools work in, its office, and every tool there is in it ---

F = TypeVar("F", bound=Callable[..., Any])
_OFFICE = "CALLBLOCKS_OFFICE"


class WorkplaceOptions(TypedDict):
    """Values that `workplace_options` pass to a command."""

    workspace: str
    office: str
    only: tuple[str, ...]


def workplace_options(command: F) -> F:
    """Add `--workspace`, `--office` and `--only`."""
    only = click.option(
        "--only",
        multiple=True,
        metavar="TOOL",
        help="Know this tool and no other; a pattern such as gmail_*; may be given again.",
    )
    return workspace_option(office_option(only(command)))


def workspace_option(command: F) -> F:
    """Add `--workspace`."""
    return click.option(
        "--workspace",
        "-w",
        type=click.Path(exists=True, file_okay=False),
        default=".",
        show_default=True,
        help="The folder that files and commands are kept to.",
    )(command)


def office_option(command: F) -> F:
    """Add `--office`."""
    return click.option(
        "--office",
        type=click.Choice(("local", "google")),
        default="local",
        envvar=_OFFICE,
        help="Where mail, files, events and tasks are: in the workspace, or at Google."
        f"  [default: local; environment: {_OFFICE}]",
    )(command)


def given_office(choice: str) -> Office | None:
    """The office that was chosen; None is the one of the workspace."""
    if choice == "local":
        return None
    from callblocks.cli.options.state_folder import GOOGLE, state_folder
    from callblocks.toolkits.office.open_office import google_office

    return google_office(state_folder() / GOOGLE)


def open_workspace(folder: str, *own: str | None) -> Root:
    """The workspace; `own` are files that steer callblocks, which no call may write."""
    from callblocks.cli.options.state_folder import state_folder
    from callblocks.core.errors import CallerError
    from callblocks.guard.files.root import Root

    try:
        return Root(folder, own=[path for path in own if path], hidden=[state_folder()])
    except CallerError as error:
        raise Fault(str(error)) from error


def code_files(folder: str) -> set[str]:
    """The files in a folder that run outside of every sandbox: -T, and all that was imported.

    A call that could write one of them could run anything, the next time.
    """
    context = click.get_current_context(silent=True)
    given: list[str] = [] if context is None else context.meta.get(TOOL_FILES, [])
    below = os.path.join(os.path.realpath(folder), "")
    ours = (sys.prefix, os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    # Only a folder that is itself in the workspace stands for the modules in it.
    roots = [root for root in ours if os.path.realpath(root).startswith(below)]
    covered = tuple(os.path.join(root, "") for root in roots)
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    others = [path for path in loaded if path and not path.startswith(covered)]
    return {*given, *roots, *(path for path in others if _real(path).startswith(below))}


def _real(path: str) -> str:
    """The real path of one file of many in few folders."""
    if os.path.islink(path):
        return os.path.realpath(path)
    return os.path.join(_real_folder(os.path.dirname(path)), os.path.basename(path))


_real_folder = cache(os.path.realpath)


def open_mcp(sign_in: BrowserSignIn | None = None) -> McpServers | None:
    """The MCP servers of the person's own file; None where there are none.

    None is started for this, unless it was never seen before. They end with the program.
    """
    from callblocks.protocols.mcp.servers import read_servers, servers_path

    entries = read_servers(servers_path())
    if not entries:
        return None
    from callblocks.cli.options.state_folder import state_folder
    from callblocks.core.extras import require
    from callblocks.protocols.mcp.server_link import McpServers

    require("mcp", f"the file {servers_path()}")
    hidden = [str(servers_path().parent)]
    return McpServers(entries, state_folder(), hidden=hidden, sign_in=sign_in, said=say)


def own_tools(root: Root, office: Office | None = None) -> Registry:
    """The tools that come with callblocks; those of an office only where there is one."""
    from callblocks.cli.options.state_folder import PAGES, state_folder
    from callblocks.toolkits.office.open_office import OFFICE_TOOLS, has_office
    from callblocks.toolkits.standard import standard_tools

    standard = standard_tools(root, office=office, pages=state_folder() / PAGES)
    if office is None and not has_office(root):
        standard = standard.without(OFFICE_TOOLS)
    return standard


def every_tool(
    given: Tools, root: Root, own: Registry | None = None, office: Office | None = None
) -> Registry:
    """The tools that were given, and those that come with callblocks under other names.

    `own` are those of a turn, where there is one.
    """
    from callblocks.cli.options.state_folder import PAGES, state_folder
    from callblocks.toolkits.standard import standard_tools
    from callblocks.tools.registry import Registry

    standard = standard_tools(root, office=office, pages=state_folder() / PAGES)
    if own is not None:
        from callblocks.toolkits.react_tools import in_turn

        standard = in_turn(standard, own)
    if (servers := open_mcp()) is not None:
        standard |= Registry(servers.tools()).without(standard.names)
    if not isinstance(given, Registry):
        return standard
    for name in standard.names:
        if name in given:
            say(f"{name} is the one of -T, not the one that comes with callblocks")
    return given | standard.without(given.names)


# --- Policy options. Without any, nothing runs ---


class PolicyOptions(TypedDict):
    """Values that `policy_options` pass to a command."""

    ask: bool
    allow: tuple[str, ...]
    allow_trait: tuple[str, ...]
    policy: str | None


class DecidingOptions(PolicyOptions):
    """Values that `deciding_options` pass to a command."""

    tainted: bool


def deciding_options(command: F) -> F:
    """Add the options of deciding to a command that reads a text."""
    return policy_options(
        click.option(
            "--tainted", is_flag=True, help="The text, or what led to it, may be of others."
        )(command)
    )


def policy_options(command: F) -> F:
    """Add the options that make a policy to a command."""
    options = (
        click.option("--ask", is_flag=True, help="Ask before each call that no rule names."),
        click.option(
            "--allow",
            multiple=True,
            metavar="TOOL",
            help="Run this tool unasked; a pattern such as file_*; may be given again.",
        ),
        click.option(
            "--allow-trait",
            multiple=True,
            metavar="TRAIT",
            help="Run tools unasked that have this trait, as read_only; may be given again.",
        ),
        click.option(
            "--policy",
            type=click.Path(exists=True, dir_okay=False),
            metavar="FILE",
            help="Rules in a TOML file; --allow comes after them.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def given_policy(options: PolicyOptions) -> Policy:
    """The policy that the options make together; off where there is none of them."""
    from callblocks.core.errors import BadPolicy
    from callblocks.policy.policy import Policy
    from callblocks.policy.rules import Rule

    written = _written(options["policy"])
    try:
        added = [
            *(Rule(decide="allow", tool=(name,), because="--allow") for name in options["allow"]),
            *(
                Rule(decide="allow", trait=(trait,), because="--allow-trait")
                for trait in options["allow_trait"]
            ),
        ]
        off = options["policy"] is not None and not written.enabled
        on = not off and (written.enabled or bool(added) or options["ask"])
        return Policy((*written.rules, *added), name=written.name, autoexec=on)
    except BadPolicy as error:
        raise Fault(f"--allow: {error}") from error


def _written(file: str | None) -> Policy:
    from callblocks.core.errors import BadPolicy
    from callblocks.policy.policy import Policy, read_policy

    try:
        return read_policy(file) if file else Policy()
    except BadPolicy as error:
        raise Fault(str(error)) from error


def check_names(options: PolicyOptions, known: tuple[str, ...]) -> None:
    """Say which --allow and --only name no tool: it may be a slip."""
    from fnmatch import fnmatchcase

    from callblocks.core.text import close_to

    given = [("allow", one) for one in options["allow"]]
    given += [("only", one) for one in options.get("only", ())]
    for option, pattern in given:
        if not any(fnmatchcase(name, pattern) for name in known):
            near = close_to(pattern, known)
            way_out = near and f"; did you mean {near}?"
            say(f"--{option} {pattern}: no tool has such a name{way_out}")
