"""MCP servers around a small program, and calls of their tools."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from callblocks.approvals.book import ApprovalBook
from callblocks.core.calls import Call
from callblocks.core.outcomes import Outcome
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.protocols.mcp.server_link import McpServers
from callblocks.protocols.mcp.servers import ServerEntry
from callblocks.runtime.gate import Approving
from support import mcp_program
from support.approvers import Person
from support.memory_artifacts import MemoryArtifacts
from support.tool_runtime import run

__all__ = ("ALLOW_SAY", "PROGRAM", "Hostile", "entry_of", "hostile", "served_over_http")

# The person allowed the tool by its name, also in a turn with text of others.
ALLOW_SAY = Policy(
    (
        Rule(decide="allow", tool=("hostile.say",), tainted=True),
        Rule(decide="allow", tool=("hostile.say",)),
    )
)

PROGRAM = Path(mcp_program.__file__)


def entry_of(mode: str, name: str = "hostile", **settings: Any) -> ServerEntry:
    """An entry that starts the program in a mode, outside of the sandbox unless it is asked for."""
    args = ("-I", "-S", str(PROGRAM), mode)
    given = {"sandbox": False, "timeout": 20.0, **settings}
    return ServerEntry(name=name, command=sys.executable, args=args, **given)


class Hostile:
    """A server in one mode, and what came of calls of it."""

    def __init__(self, servers: McpServers, state: Path) -> None:
        self.servers = servers
        self.said: list[str] = []
        self.state = state
        self.artifacts = MemoryArtifacts()

    @property
    def tools(self) -> Any:
        return self.servers.tools()

    def call(self, word: str = "hello", person: Person | None = None, **parts: Any) -> Outcome:
        """Call the tool `say`, or another one, under a policy that allows all of them."""
        return self.calls(word, person=person, **parts)[0]

    def calls(self, *words: str, person: Person | None = None, **parts: Any) -> list[Outcome]:
        made = [
            Call(id=f"c{at}", name="hostile.say", input={"word": word})
            for at, word in enumerate(words)
        ]
        with ApprovalBook(self.state / "approvals.sqlite") as book:
            approving = Approving(book, person, place="here") if person else None
            return run(
                self.tools,
                *made,
                policy=ALLOW_SAY,
                approving=approving,
                keep=self.artifacts,
                **parts,
            )


@contextmanager
def hostile(mode: str, state: Path, **settings: Any) -> Generator[Hostile]:
    """The server in a mode; it is gone in the end."""
    said: list[str] = []
    servers = McpServers([entry_of(mode, **settings)], state, said=said.append)
    made = Hostile(servers, state)
    made.said = said
    try:
        yield made
    finally:
        servers.close()


@contextmanager
def served_over_http(server: Any) -> Generator[str]:
    """The address of a server of the SDK, in a thread."""
    app = server.streamable_http_app(stateless_http=True, json_response=False)
    served = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=lambda: served.run([bound]), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
        finally:
            served.should_exit = True
            thread.join()
