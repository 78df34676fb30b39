"""The processes of a cluster, forked from one that has imported everything.

Each line of its input is JSON: a role, the address of the database, a folder, settings, and a file
for the address of the process, or an empty line, once it works. It prints the number of each
process, and writes how one ended into FOLDER/ended-PID. The model does what a prompt says:

    work KEY ROUNDS MS      calls `note` once a round, MS milliseconds after it was asked, and ends
    say WORDS MS            says so many words, MS milliseconds apart
    ask KEY                 calls `ask_first`, which needs an answer
    die KEY                 calls `die`, which kills its process
    hang KEY                calls `hang`, which comes back once FOLDER/free is there

Each tool writes a line into FOLDER/effects before it comes back: its name and its key; `note` also
keeps a file. Each process has a folder of its own, as on a machine of its own; artifacts are in
FOLDER/artifacts, or in the bucket that the setting `artifacts` names.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import time
import traceback
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec

from callblocks.cluster.dbos_engine import DbosEngine
from callblocks.cluster.turns import ClusterLimits
from callblocks.cluster.worker import Cluster
from callblocks.models.model import Piece, Request, Spoken, Stopped
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.server.cluster_roles import WorkerLost, serve_role
from callblocks.server.settings import ServerSettings
from callblocks.session.host import Host, HostSettings, OpenParts
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Context
from support.command_home import fence

__all__ = ("ClusterModel", "cluster_tools")

LOST = 75
POLICY = Policy(
    (Rule(decide="ask", tool=("ask_first",)), Rule(decide="allow", tool=("*",))), autoexec=True
)


class ClusterModel:
    """A model that does what its prompt says, from the timeline alone."""

    writes_results = False
    name = "cluster"

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        word, _, rest = request.prompt.partition(" ")
        given = rest.split()
        if word == "work":
            key, rounds, wait = given[0], int(given[1]), int(given[2]) / 1000
            await asyncio.sleep(wait)
            if request.round <= rounds:
                yield Spoken(f"Round {request.round}.\n\n")
                yield Spoken(fence("note", text=f"{key}.{request.round}"))
            else:
                yield Spoken(f"Done {key}.")
        elif word == "say":
            for number in range(int(given[0])):
                await asyncio.sleep(int(given[1]) / 1000)
                yield Spoken(f"word-{number} ")
        elif (word in ("ask", "die", "hang") and request.round == 1) or word == "die":
            name = "ask_first" if word == "ask" else word
            yield Spoken(fence(name, text=given[0]))
        else:
            yield Spoken(f"You said: {request.prompt}")
        yield Stopped("stop")

    async def close(self) -> None:
        pass


def cluster_tools(folder: Path) -> Registry:
    """The tools, which write what they do into a file of the folder."""

    def keep(name: str, text: str) -> None:
        with (folder / "effects").open("a") as file:
            file.write(f"{name} {text} {os.getpid()}\n")

    @tool
    def note(text: str, context: Context) -> str:
        """Write a note down."""
        context.keep(f"{text}.txt", f"the note {text}\n")
        keep("note", text)
        return "noted"

    @tool
    def ask_first(text: str) -> str:
        """Write a note down once a person agreed."""
        keep("ask_first", text)
        return "noted"

    @tool
    def die(text: str) -> str:
        """Kill the process."""
        keep("die", text)
        os.kill(os.getpid(), signal.SIGKILL)
        return "never"

    @tool
    def hang(text: str) -> str:
        """Wait until a file is there."""
        keep("hang", text)
        while not (folder / "free").exists():
            time.sleep(0.005)
        return "done"

    return Registry([note, ask_first, die, hang])


def serve_one(role: str, address: str, folder: Path, settings: dict[str, str], ready: Path) -> None:
    given = dict(settings)
    artifacts = given.pop("artifacts", str(folder / "artifacts"))
    own = folder / f"process-{os.getpid()}"
    port = int(given.pop("port", "0"))
    limits = msgspec.convert(given, ClusterLimits, strict=False)

    if role == "dbos":
        # The engine alone, whose jobs do nothing.
        DbosEngine(address, limits).work(f"dbos-{os.getpid()}", lambda job: None)
        _tell(ready, "")
        signal.pause()

    def open_host(parts: OpenParts) -> Host:
        (folder / "workspace").mkdir(exist_ok=True)
        known = HostSettings(
            state=own,
            artifacts=artifacts,
            workspace=folder / "workspace",
            model=ClusterModel(),
            dialect="tool-fence",
            policy=POLICY,
            tools=cluster_tools(folder),
            only=("note", "ask_first", "die", "hang"),
        )
        return Host(known, parts)

    cluster = Cluster(address, own, DbosEngine, limits)
    try:
        serve_role(
            role,  # pyright: ignore[reportArgumentType] one of the three
            ServerSettings(port=port, no_token=True, grace=limits.grace, rate=1e6, burst=1_000_000),
            cluster,
            open_host,
            lambda told: _tell(ready, told),
        )
        cluster.close()
    except WorkerLost:
        # Threads may hang in what they did before; nobody waits for them.
        os._exit(LOST)


def _tell(ready: Path, address: str) -> None:
    part = ready.with_suffix(".part")
    part.write_text(f"{address}\n")
    part.rename(ready)


def main() -> None:
    """Fork a process for each line, until the input ends; then end all of them."""
    children: dict[int, Path] = {}
    buffer = b""
    while True:
        readable, _, _ = select.select([0], [], [], 0.02)
        _bury(children)
        if not readable:
            continue
        more = os.read(0, 65536)
        if not more:
            break
        *lines, buffer = (buffer + more).split(b"\n")
        for line in lines:
            order = json.loads(line)
            pid = os.fork()
            if not pid:
                _begin(order)
            children[pid] = Path(order["folder"])
            os.write(1, b"%d\n" % pid)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _begin(order: dict[str, Any]) -> None:
    """Be a process of the cluster, and end."""
    code = 1
    try:
        log = os.open(f"{order['folder']}/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        for number in (1, 2):
            os.dup2(log, number)
        os.close(0)
        folder, ready = Path(order["folder"]), Path(order["ready"])
        serve_one(order["role"], order["address"], folder, order["settings"], ready)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        # Threads of the engine may hang; nobody waits for them.
        os._exit(code)


def _bury(children: dict[int, Path]) -> None:
    for pid, folder in list(children.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            del children[pid]
            (folder / f"ended-{pid}").write_text(str(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    main()
