"""Code that a model writes in a talk: run in its turn, shown meanwhile, read by the next one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from callblocks.core.calls import Call
from callblocks.core.events import CallEnded, CallTold, TurnEvent
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.session.host import Host
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.views.ui.ai_sdk.stream import UiStream
from support.exec_runs import PYTHON, SHELL
from support.scripted_sessions import Replies, blocks_of, of_type, run_turn, some_host, write

MAKES = """
import csv
rows = [(n, n * n) for n in range(1, 4)]
for row in rows:
    print("row", *row)
with open("files/squares.csv", "w", newline="") as file:
    csv.writer(file).writerows(rows)
"""
# What code gives is text of others in the turns that follow: a rule must say that this is fine.
ALLOW = Policy(
    (
        Rule(decide="allow", tool=(PYTHON, SHELL), tainted=True),
        Rule(decide="allow", tool=(PYTHON, SHELL)),
    )
)
READS = "tail -n 1 turn_1/files/squares.csv > files/last.txt"


def says(name: str, code: str, filename: str) -> str:
    input = {"code": code, "contract": [{"filename": filename, "description": "it"}]}
    return write("tool-fence", Call(id=f"make-{filename}", name=name, input=input))


async def talk(host: Host) -> list[TurnEvent]:
    session = host.session("talk")
    return [
        event for prompt in ("Make it.", "Read it.") for event in await run_turn(session, prompt)
    ]


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[TurnEvent], list[str]]:
    folder = tmp_path_factory.mktemp("talk")
    first, second = says(PYTHON, MAKES, "squares.csv"), says(SHELL, READS, "last.txt")
    model = Replies(first, "Made.", second, "Read.")
    with some_host(folder, model, policy=ALLOW) as host:
        events = asyncio.run(talk(host))
        return events, [block.text or "" for block in blocks_of(host.session("talk"))]


def test_code_of_one_turn_reads_what_another_made(
    talked: tuple[list[TurnEvent], list[str]],
) -> None:
    events, texts = talked
    made, read = [one.outcome for one in of_type(events, CallEnded)]
    assert made.output["produced"] == ["turn_1/files/squares.csv"]
    assert read.output["produced"] == ["turn_2/files/last.txt"]
    assert "Runtime error: none\nSucceeded:\n- turn_2/files/last.txt" in texts
    assert texts.count("3,9\r\n") == 1
    assert MAKES in texts


def test_what_it_tells_while_it_runs_reaches_clients(
    talked: tuple[list[TurnEvent], list[str]],
) -> None:
    events, _ = talked
    told = "".join(one.text for one in of_type(events, CallTold) if one.id == "make-squares.csv")
    assert told == "row 1 1\nrow 2 4\nrow 3 9\nfile 1 of 1: turn_1/files/squares.csv (15B)\n"
    stream = UiStream(6, message_id="m")
    chunks = [chunk for event in events for chunk in stream.feed(event)]
    shown = [chunk["data"]["text"] for chunk in chunks if chunk["type"] == "data-progress"]
    assert "".join(shown) == told


def test_a_tool_of_the_caller_keeps_its_name(tmp_path: Path) -> None:
    @tool(name=PYTHON)
    def own(code: str, contract: list[dict[str, str]]) -> str:
        """Run it elsewhere."""
        return "ran elsewhere"

    model = Replies(says(PYTHON, "1", "a"), "Done.")
    with some_host(tmp_path, model, tools=Registry([own])) as host:
        events = asyncio.run(run_turn(host.session("talk"), "Go."))
    (ended,) = of_type(events, CallEnded)
    assert ended.outcome.output == "ran elsewhere"


def test_where_it_is_not_named_it_is_not_there(tmp_path: Path) -> None:
    model = Replies(says(PYTHON, "1", "a"), "Done.")
    with some_host(tmp_path, model, only=("file_read",)) as host:
        events = asyncio.run(run_turn(host.session("talk"), "Go."))
    (ended,) = of_type(events, CallEnded)
    assert ended.outcome.error.code == "unknown_tool"


def test_files_that_it_made_are_told_with_its_end(
    talked: tuple[list[TurnEvent], list[str]],
) -> None:
    ended = [one.outcome for one in of_type(talked[0], CallEnded)]
    assert [[file.path for file in outcome.artifacts] for outcome in ended] == [
        ["fi:turn_1.files/squares.csv"],
        ["fi:turn_2.files/last.txt"],
    ]
