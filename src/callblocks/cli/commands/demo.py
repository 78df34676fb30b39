"""`callblocks demo`: the page with a sample to work on, and a model that plays scripts.

Nothing is needed for it: no network, no key, no weights. What only reads runs unasked, all else is
asked on the page.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from callblocks.cli.exits import EXIT_CODES, Fault, is_pipe, say
from callblocks.cli.options.chat_options import MODEL_SPEC
from callblocks.core.call_text import format_size
from callblocks.guard.files.root import Root
from callblocks.toolkits.file_tools import PathText
from callblocks.tools.context import Context
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry

if TYPE_CHECKING:
    from callblocks.policy.policy import Policy
    from callblocks.server.settings import ServerSettings
    from callblocks.session.host import Host

__all__ = (
    "DemoPlace",
    "command",
    "demo_tools",
    "lay_sample",
)

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
    from callblocks.models.config import open_named, read_config
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
                Offered(one.model, suited_dialect(one.spec, one.dialect), one.name, one.system)
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


# --- The folder of the demo: a sample to work on, beside what the server keeps ---
#
# ~/.local/state/callblocks/demo/workspace     the sample, laid once; then it is the person's
# ~/.local/state/callblocks/demo/state         chats, kept files and approvals

_SAMPLE = Path(__file__).with_name("sample")
_POINTS = 3000


class DemoPlace(msgspec.Struct, frozen=True):
    """Folders of the demo; the workspace is outside of the state, which no call can see."""

    folder: Path

    @property
    def state(self) -> Path:
        """The state folder of the server."""
        return self.folder / "state"

    @property
    def workspace(self) -> Path:
        """The workspace of the model."""
        return self.folder / "workspace"

    def prepare(self) -> None:
        """Make what is not there yet; what a person changed stays as it is."""
        try:
            self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self.workspace.exists():
                lay_sample(self.workspace)
        except OSError as error:
            words = f"{error.filename or self.folder}: {error.strerror or error}"
            raise Fault(f"{words}; name another folder with --state") from error


def lay_sample(workspace: Path) -> None:
    """Put the sample there, whole or not at all."""
    from callblocks.toolkits.office.open_office import FOLDER
    from callblocks.toolkits.office.sample.sample_office import lay_office

    # Beside it, so that it is moved and not copied.
    with tempfile.TemporaryDirectory(dir=workspace.parent) as beside:
        laid = Path(beside, "workspace")
        shutil.copytree(_SAMPLE, laid, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        (laid / "soundings.csv").write_text("\n".join((*_soundings(), "")), "utf-8")
        # An installed package may be read-only, and so would be what is copied from it.
        for path in (laid, *laid.rglob("*")):
            path.chmod(0o700 if path.is_dir() else 0o600)
        lay_office(laid / FOLDER)
        os.replace(laid, workspace)


def _soundings() -> Iterable[str]:
    """A long table: how deep the water is along the way, step by step, at high water."""
    yield "step,metres_from_shore,depth_m,ground"
    for step in range(1, _POINTS + 1):
        way = step / _POINTS
        depth = 4.6 * math.sin(math.pi * way) ** 0.5 + 0.3 * math.sin(way * 90)
        ground = ("sand", "sand", "mud", "stones")[int(way * 23) % 4]
        yield f"{step},{step * 0.8:.1f},{max(depth, 0):.2f},{ground}"


# --- `file_show`: a file of the workspace for the person to look at, kept as it is now ---
#
# A model that reads a PDF or a picture gets nothing from it. So the page shows it, and the model is
# told that it is shown.


def demo_tools(root: Root) -> Registry:
    """The tools that only the demo has."""

    @tool(read_only=True)
    def file_show(path: PathText, context: Context) -> str:
        """Show a file of the workspace to the person: a picture, a PDF, a table, a text.

        Args:
            path: the file, from the workspace down, such as charts/sales.pdf
        """
        content = root.read(path)
        context.keep(path.rpartition("/")[2], content)
        return f"{path} is shown, {format_size(len(content))}"

    return Registry([file_show])
