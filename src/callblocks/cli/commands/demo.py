"""`callblocks demo`: the page with a sample to work on, and a model that plays scripts.

Nothing is needed for it: no network, no key, no weights. What only reads runs unasked, all else is
asked on the page.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from callblocks.cli.exits import EXIT_CODES, Fault, is_pipe, say
from callblocks.cli.options.chat_options import MODEL_SPEC

if TYPE_CHECKING:
    from callblocks.cli.chat.demo_folder import DemoPlace
    from callblocks.policy.policy import Policy
    from callblocks.server.settings import ServerSettings
    from callblocks.session.host import Host
    from callblocks.tools.registry import Registry

__all__ = ("command",)

_PORT = 8765
_SCRIPTS = Path(__file__).with_name("demo_scripts")


@click.command("demo", short_help="Open a page with a sample to try, offline.", epilog=EXIT_CODES)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"The port.  [default: {_PORT}, or one that is free]",
)
@click.option(
    "--model",
    "-m",
    type=MODEL_SPEC,
    metavar="SPEC",
    multiple=True,
    help="A further model that turns may choose, as for `callblocks serve`; may be given again.",
)
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where the sample and the chats are.  [default: demo in the state folder]",
)
@click.option("--fresh", is_flag=True, help="In a new folder, which is removed at the end.")
@click.option("--no-token", is_flag=True, help="Let every user and program of this machine in.")
@click.option("--open/--no-open", "opens", default=True, help="Open a browser, where there is one.")
def command(
    port: int | None,
    model: tuple[str, ...],
    state: Path | None,
    fresh: bool,
    no_token: bool,
    opens: bool,
) -> None:
    """Serve the page with a sample to work on, until Ctrl-C.

    A model that plays scripts answers, at the pace of a real one; the page suggests what to ask.
    What only reads runs unasked, and you are asked before anything else. What you change in the
    sample stays, and so do your chats.
    """
    if fresh and state is not None:
        raise click.UsageError("--fresh and --state exclude each other")
    import msgspec

    from callblocks.cli.options.state_folder import kept_token
    from callblocks.server.app import serve
    from callblocks.server.settings import ServerSettings

    with ExitStack() as stack:
        place = stack.enter_context(_place(state, fresh=fresh))
        tools = stack.enter_context(_tools(place))
        token = "" if no_token else kept_token(place.state)
        settings = ServerSettings(
            port=_PORT if port is None else port, token=token, no_token=no_token
        )
        if port is None and not _is_free(settings):
            settings = msgspec.structs.replace(settings, port=0)
        try:
            serve(
                settings,
                lambda: _host(place, tools, model),
                lambda address: _tell(address, token, place, opens=opens),
            )
        except KeyboardInterrupt:
            # It is how one leaves.
            sys.stdout.write("\n")


@contextmanager
def _place(state: Path | None, *, fresh: bool) -> Generator[DemoPlace]:
    from tempfile import TemporaryDirectory

    from callblocks.cli.chat.demo_folder import DemoPlace
    from callblocks.cli.options.state_folder import state_folder

    with ExitStack() as stack:
        if fresh:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="callblocks-demo-")))
        else:
            folder = state or state_folder() / "demo"
        place = DemoPlace(folder.absolute())
        place.prepare()
        yield place


@contextmanager
def _tools(place: DemoPlace) -> Generator[Registry]:
    from callblocks.cli.chat.demo_folder import demo_tools
    from callblocks.core.errors import CallerError
    from callblocks.guard.files.root import Root

    try:
        root = Root(place.workspace, hidden=[place.state])
    except CallerError as error:
        raise Fault(str(error)) from error
    with root:
        yield demo_tools(root)


def _host(place: DemoPlace, tools: Registry, others: tuple[str, ...]) -> Host:
    from callblocks.cli.chat.chat_setup import OFFICE_SCRIPTS, suited_dialect
    from callblocks.models.model_config import open_named, read_config
    from callblocks.models.scripted import ScriptedModel
    from callblocks.session.host import Host, HostSettings
    from callblocks.session.model_choice import Offered

    config = read_config()
    opened = [open_named(spec, config) for spec in others]
    return Host(
        HostSettings(
            state=place.state,
            workspace=place.workspace,
            model=ScriptedModel(more=(_SCRIPTS, OFFICE_SCRIPTS)),
            dialect="auto",
            others=tuple(
                Offered(
                    one.model,
                    suited_dialect(one.spec, one.dialect),
                    one.name,
                    one.system,
                    one.grammar,
                )
                for one in opened
            ),
            tools=tools,
            policy=_policy(),
        )
    )


def _policy() -> Policy:
    from callblocks.policy.policy import Policy
    from callblocks.policy.rules import Rule

    reads = Rule(decide="allow", trait=("read_only",), because="it changes nothing")
    asks = Rule(decide="ask", tool=("*",), because="it may change something")
    return Policy((reads, asks), name="demo", autoexec=True)


def _is_free(settings: ServerSettings) -> bool:
    from callblocks.core.errors import CallerError
    from callblocks.server.app import bind

    try:
        bind(settings).close()
    except CallerError:
        return False
    return True


def _tell(address: str, token: str, place: DemoPlace, *, opens: bool) -> None:
    from callblocks.cli.options.state_folder import TOKEN

    whole = f"{address}/#token={token}" if token else address
    # A log keeps no secret.
    is_shown = not token or sys.stdout.isatty() or is_pipe()
    words = (
        f"{whole if is_shown else address}\n\n"
        "A model that plays scripts answers there, offline; the page suggests what to ask.\n"
        f"It works in {place.workspace}.\n"
        "What only reads runs unasked; you are asked before anything else. Ctrl-C ends it.\n"
    )
    sys.stdout.write(words)
    sys.stdout.flush()
    if not is_shown:
        say(f"the token is in {place.state / TOKEN}; a browser gets it as /#token=…")
    if opens and _has_display():
        _open_browser(_redirect_file(whole, place.state))


def _redirect_file(address: str, state: Path) -> str:
    """Write a file that redirects a browser to the page; return its address.

    The arguments of a program can be read by every user of the machine; this file cannot.
    """
    file_path = state / "open.html"
    file_path.unlink(missing_ok=True)
    made = os.open(file_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(made, "w") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">\n')
    return file_path.as_uri()


def _has_display() -> bool:
    """Return whether a graphical browser can open; one in the terminal would hide the output."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_browser(address: str) -> None:
    import threading
    import webbrowser

    # Some browsers come back only when they are closed.
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
