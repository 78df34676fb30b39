"""One turn with a model of a family, as `callblocks chat` and `callblocks serve` set it up.

Options are read by the commands themselves, so a turn has their defaults: the address of the model,
the workspace and what may run are all that is said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from callblocks.cli.chat.chat_setup import ChatSetup
from callblocks.cli.commands import chat, serve
from callblocks.cli.options.chat_options import ChatOptions
from callblocks.core.events import (
    CallEnded,
    CallReady,
    Text,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.outcomes import Outcome
from support.chat_server import Served, chunks, posted, said, served_host
from support.family_server import ANSWER, TOOL, FamilyServer
from support.model_events import read_events
from support.model_families import FAMILIES, Family

__all__ = ("Cell", "chat_cell", "chat_events", "outcomes_of", "serve_cells")

_PROMPT = "Write the shopping list down."
_NOT_OF_THE_PLACE = ("name", "last", "attach", "prompt", "as_json")


class Cell(NamedTuple):
    """How a call arrived, "" if none did, and what went wrong, "" if nothing did."""

    dialect: str
    problem: str


def chat_cell(server: FamilyServer, family: Family, workspace: Path) -> Cell:
    """A turn of `callblocks chat`."""
    server.invalid.clear()
    events = asyncio.run(chat_events(server, family, workspace))
    calls = [event.call for event in read_events(events, CallReady)]
    answer = "".join(event.text for event in read_events(events, Text))
    ended = [event for event in events if isinstance(event, TurnEnded)]
    problems = [
        *server.invalid,
        *(f"{one.name}: {one.error.message}" for one in outcomes_of(events) if one.error),
        *(f"the turn: {one.message}" for one in ended if one.code),
        *_file_problems(server, family, workspace),
        *([] if ANSWER in answer else [f"the answer is {answer!r:.200}"]),
        *([] if len(calls) == 1 else [f"{len(calls)} calls"]),
    ]
    server.invalid.clear()
    return Cell(calls[0].dialect if calls else "", "; ".join(problems))


async def chat_events(server: FamilyServer, family: Family, workspace: Path) -> list[TurnEvent]:
    """All events of the turn."""
    context = chat.command.make_context(
        "chat", ["-m", f"{server.url}#{family.model}", "--allow", TOOL, "-w", str(workspace)]
    )
    events: list[TurnEvent] = []
    with context:
        given = {
            name: value for name, value in context.params.items() if name not in _NOT_OF_THE_PLACE
        }
        place = ChatSetup(cast("ChatOptions", given), None)
        try:
            await place.session(place.new_name()).run(_PROMPT, tell=events.append)
        finally:
            await place.close()
    return events


def outcomes_of(events: Sequence[TurnEvent]) -> list[Outcome]:
    """What came of the calls."""
    return [event.outcome for event in events if isinstance(event, CallEnded)]


@contextmanager
def serve_cells(server: FamilyServer, workspace: Path) -> Generator[Callable[[Family], Cell]]:
    """Yield a function that plays a turn of `callblocks serve` with a family.

    One server has the models of all families; turns choose among them.
    """
    models = [word for family in FAMILIES for word in ("-m", f"{server.url}#{family.model}")]
    context = serve.command.make_context(
        "serve", [*models, "--allow", TOOL, "-w", str(workspace), "--port", "0"]
    )
    own = ("host", "port", "token", "origin", "sdk_version", "public_url")
    given: dict[str, Any] = {key: value for key, value in context.params.items() if key not in own}
    first, *others = given.pop("model")
    options = cast("ChatOptions", {**given, "model": first})
    with context, served_host(lambda: ChatSetup(options, None, others).host) as served:
        yield lambda family: _served(served, server, family, workspace)


def _served(served: Served, server: FamilyServer, family: Family, workspace: Path) -> Cell:
    server.invalid.clear()
    chat = f"{server.mode}-{FAMILIES.index(family)}"
    body = {**posted(_PROMPT, chat), "model": family.model}
    came = chunks(served.client.post("/api/chat", json=body))
    by_type = {chunk["type"]: chunk for chunk in came}
    inputs = [chunk for chunk in came if chunk["type"] == "tool-input-available"]
    problems = [
        *server.invalid,
        *(str(chunk) for chunk in came if chunk["type"] in ("error", "tool-output-error")),
        *([] if "tool-output-available" in by_type else ["no output of a tool"]),
        *_file_problems(server, family, workspace),
        *([] if ANSWER in said(came) else [f"the answer is {said(came)!r:.200}"]),
        *([] if len(inputs) == 1 else [f"{len(inputs)} calls"]),
    ]
    server.invalid.clear()
    return Cell("", "; ".join(problems))


def _file_problems(server: FamilyServer, family: Family, workspace: Path) -> list[str]:
    """Whether the file is what the model wrote; it is removed for whoever comes next."""
    wanted = server.wanted(family)
    file = workspace / wanted["path"]
    if not file.is_file():
        return ["nothing was written"]
    written = file.read_text("utf-8")
    file.unlink()
    return [] if written == wanted["content"] else [f"the file is {written!r}"]
