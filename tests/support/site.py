"""The chat server for browser tests: scripts and tools that a test steers.

    with open_site(folder, scripts) as site:
        site.script("greet", "Hello. ⏸ And good bye.")     whoever says "greet" gets this
        page.goto(site.page())
        site.go_on()                                       the model goes on behind ⏸
        site.let_go("slow")                                the call wait(name="slow") returns

`MortalSite` is the same in a process that can be killed, and begun again at the same address.

What only reads runs unasked; all else is asked. The model writes without pauses, but for ⏸.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

from callblocks.models.model import Piece, Request, Spoken
from callblocks.models.scripted import ScriptedModel
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.host import Host, HostSettings
from callblocks.session.team_file import Member, TeamSettings, Voice
from callblocks.tools.registry import Registry
from support.chat_server import Served, served_host
from support.gates import Gates
from support.site_tools import site_tools

__all__ = (
    "PAUSE",
    "SITE_POLICY",
    "HeldScripts",
    "MortalSite",
    "Site",
    "held_scripts",
    "open_site",
    "site_host",
)

PAUSE = "⏸"
SITE_POLICY = Policy(
    (
        Rule(decide="allow", trait=("read_only",), because="it changes nothing"),
        Rule(decide="ask", tool=("*",), because="it may change something"),
    ),
    autoexec=True,
)


class HeldScripts(ScriptedModel):
    """Plays scripts at once, and stops at each ⏸ until it is let go on."""

    def __init__(self, folder: Path, gates: Gates) -> None:
        super().__init__(folder, pace=0)
        self._gates = gates
        self._pauses = 0

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        async with aclosing(super().reply(request)) as pieces:
            async for piece in pieces:
                if not isinstance(piece, Spoken) or PAUSE not in piece.text:
                    yield piece
                    continue
                before, _, after = piece.text.partition(PAUSE)
                yield Spoken(before)
                self._pauses += 1
                await self._gates.passed(_pause(self._pauses))
                yield Spoken(after)


class Place:
    """The folder of a site, and what a test steers it by."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gates = Gates(folder / "gates")
        self._let_on = 0

    @property
    def workspace(self) -> Path:
        """The folder that files are read from and written to."""
        return self.folder / "work"

    def script(self, name: str, text: str) -> None:
        """Have the model answer the words of the name with a text."""
        (self.folder / "scripts" / f"{name}.md").write_text(text, "utf-8")

    def go_on(self) -> None:
        """Let the model go on behind one ⏸."""
        self._let_on += 1
        self.gates.open(_pause(self._let_on))

    def let_go(self, name: str) -> None:
        """Let the call `wait(name=…)` return, be it running or still to come."""
        self.gates.open(name)

    def free(self) -> None:
        """Let all go that waits."""
        self.gates.open_all()


class Site(Place, Served):
    """A server with a page, in a thread."""

    def __init__(self, served: Served, folder: Path, model: HeldScripts) -> None:
        Place.__init__(self, folder)
        Served.__init__(self, served.port, served.server, served.client)
        self.model = model

    @property
    def url(self) -> str:
        """Where the server is, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Cut every connection off, in the middle of whatever is sent."""
        for one in list(self.server.server_state.connections):
            one.loop.call_soon_threadsafe(one.transport.abort)

    def page(self, chat: str = "") -> str:
        """The address of the chat page."""
        return f"{self.url}/?chat={chat}" if chat else f"{self.url}/"


class MortalSite(Place):
    """A server with a page, in a process of its own; `kill` it and `begin` again."""

    def __init__(self, folder: Path, scripts: Path) -> None:
        super().__init__(folder)
        _make_place(folder, scripts)
        self.url = ""
        self._child: subprocess.Popen[str] | None = None
        self.begin()

    def begin(self) -> None:
        """Serve, at the same address as before."""
        port = self.url.rpartition(":")[2] or "0"
        command = [sys.executable, "-m", "support.site_program", os.fspath(self.folder), port]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        assert self._child.stdout is not None
        self.url = self._child.stdout.readline().strip()
        assert self.url, "the server did not begin"

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._child is not None:
            with self._child:
                self._child.send_signal(signal.SIGKILL)
            self._child = None


def site_host(
    folder: Path,
    model: HeldScripts,
    *,
    members: Sequence[str] = (),
    policy: Policy = SITE_POLICY,
    **more: Any,
) -> Host:
    """The host in a folder; with `members`, each chat is that team's."""
    tools = Registry(site_tools(Gates(folder / "gates")))
    team = _team(model, tools, members) if members else None
    given = {"dialect": "auto", "tools": tools, "policy": policy, "team": team, **more}
    return Host(
        HostSettings(state=folder / "state", workspace=folder / "work", model=model, **given)
    )


def held_scripts(folder: Path) -> HeldScripts:
    """The model of a site in a folder."""
    return HeldScripts(folder / "scripts", Gates(folder / "gates"))


@contextmanager
def open_site(
    folder: Path,
    scripts: Path,
    *,
    members: Sequence[str] = (),
    policy: Policy = SITE_POLICY,
    host: dict[str, Any] | None = None,
    **settings: Any,
) -> Generator[Site]:
    """A server with copies of these scripts; `settings` are the server's, `host` the host's."""
    _make_place(folder, scripts)
    model = held_scripts(folder)

    def open_host() -> Host:
        return site_host(folder, model, members=members, policy=policy, **(host or {}))

    with served_host(open_host, **{"rate": 1000.0, "burst": 5000, **settings}) as served:
        site = Site(served, folder, model)
        try:
            yield site
        finally:
            site.free()


def _make_place(folder: Path, scripts: Path) -> None:
    (folder / "work").mkdir(parents=True)
    shutil.copytree(scripts, folder / "scripts")


def _pause(number: int) -> str:
    return f"pause-{number}"


def _team(model: HeldScripts, tools: Registry, members: Sequence[str]) -> TeamSettings:
    return TeamSettings(
        members=tuple(
            Member(name=name, model=model, tools=tools, dialect="auto") for name in members
        ),
        consensus=Voice(model=model, dialect="auto"),
    )
