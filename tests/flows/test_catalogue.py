"""Each of the 37 types runs on the sample office, written in each dialect that a model writes.

Those of the office run at Google, too, whose every request is checked by its own description.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.core.calls import Call
from callblocks.core.outcomes import Outcome
from callblocks.core.specs import CATALOGUE
from callblocks.dialects import TAUGHT, dialects
from callblocks.guard.files.root import Root
from callblocks.parser import Parser
from callblocks.parsing.dialect import Parsed
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.runtime import Runtime
from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.google.google_office import GoogleOffice
from callblocks.toolkits.office.open_office import (
    EXAMPLES,
    GOOGLE_METHODS,
    OFFICE_TOOLS,
    example_call,
)
from callblocks.toolkits.standard import standard_tools
from callblocks.tools.registry import Registry
from support.google.sample import seed
from support.google.server import Server
from support.sample_offices import copy_office
from support.sites import PUBLIC, Net, Site, ok

ALLOWED = Policy(
    (Rule(decide="allow", tool=("*", "terminal_execute"), because="a test"),), autoexec=True
)
PIECE = 7
SAYS = {
    "api_call": "06:13",
    "file_ingest": "price-list.html",
    "file_upload": "notice.txt",
    "search": "«pump»",
    "web_search": "notice-board.txt",
    "custom": "Bookings.sheet",
    "gmail_list": "Gant perdu sur le bateau",
    "gmail_read": "lighthouse",
    "gmail_send": "SENT",
    "gmail_search": "8e962c41b36b0c46",
    "drive_list": "berth-plan.png",
    "drive_read": "6,Holm Island,15:45",
    "drive_create": "gale.txt",
    "drive_update": "engine-log",
    "drive_delete": "price-list.html",
    "drive_search": "Winter notice",
    "calendar_list": "Crew",
    "calendar_events": "Engine service, no boat",
    "calendar_create": "Hang up the winter notice",
    "calendar_update": "24 pupils",
    "calendar_delete": "Dentist",
    "docs_read": "we leave from berth",
    "docs_create": "Minutes 16 November",
    "docs_append": "minutes-november",
    "docs_replace": '"occurrencesChanged": 1',
    "sheets_read": "Choir of Saltquay",
    "sheets_write": "November!E4:F4",
    "sheets_append": "A5:D5",
    "sheets_create": "Lost and found",
    "sheets_clear": "November!A6:G6",
    "tasks_list": "Hang up the winter notice",
    "tasks_get": "Loud after the start",
    "tasks_create": "Check the radio",
    "tasks_update": "Order four fenders",
    "tasks_complete": "completed",
    "tasks_delete": "sendglove",
    "terminal_execute": '"stdout": "3\\n"',
}
"""A part of what comes of each example, in either office."""


def _read(text: str, dialect: str, tools: Registry) -> Call:
    """The call in a text that comes in pieces."""
    parser = Parser(dialect, tools=tools)
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    events = [event for piece in pieces for event in parser.feed(piece)]
    parsed = Parsed([*events, *parser.close()])
    assert parsed.problems == []
    (call,) = parsed.calls
    return call


async def _run(call: Call, root: Root, office: Office | None) -> Outcome:
    async with Site(lambda asked: ok(b'{"low": "06:13"}', content_type="application/json")) as site:
        net = Net({"tides.example": [[PUBLIC]]}, {PUBLIC: site.port})
        runtime = Runtime(standard_tools(root, net.client(), office), ALLOWED, resolve=root.resolve)
        (outcome,) = [one async for one in runtime.run([call])]
        return outcome


@pytest.fixture(scope="module")
def google() -> Iterator[tuple[Server, Office]]:
    """The sample in the played Google Workspace; no example stands in the way of another."""
    with Server() as server:
        office = GoogleOffice(server.credentials(), server.base, sleep=lambda _: None)
        seed(office, server.state)
        assert server.complaints == []
        yield server, office
        office.close()


def test_every_type_has_an_example_and_nothing_else_has() -> None:
    assert tuple(EXAMPLES) == tuple(SAYS) == CATALOGUE


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_type_runs_on_the_sample_through_each_dialect_that_any_model_can_be_taught(
    name: str, tmp_path: Path
) -> None:
    wanted = example_call(name)
    assert wanted is not None
    for dialect in TAUGHT:
        workspace = tmp_path / dialect
        copy_office(workspace)
        with Root(workspace) as root:
            tools = standard_tools(root)
            call = _read(dialects[dialect].write([wanted], tools), dialect, tools)
            assert (call.name, call.input) == (name, wanted.input)
            outcome = asyncio.run(_run(call, root, None))
        assert outcome.error is None, f"{dialect}: {outcome.error}"
        assert SAYS[name] in json.dumps(outcome.output, ensure_ascii=False)


@pytest.mark.parametrize("name", OFFICE_TOOLS)
def test_a_type_of_the_office_runs_at_google_by_its_method(
    name: str, google: tuple[Server, Office], tmp_path: Path
) -> None:
    server, office = google
    call = example_call(name)
    assert call is not None
    server.asked.clear()
    with Root(tmp_path) as root:
        outcome = asyncio.run(_run(call, root, office))
    assert outcome.error is None
    assert SAYS[name] in json.dumps(outcome.output, ensure_ascii=False)
    assert GOOGLE_METHODS[name] in server.seen
    assert server.complaints == []
    assert not list(tmp_path.iterdir())


def test_every_tool_of_the_office_names_a_method_of_google() -> None:
    assert tuple(GOOGLE_METHODS) == OFFICE_TOOLS
