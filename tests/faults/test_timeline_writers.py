"""Several processes write to one timeline and others follow it: one chain, seen alike by all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from callblocks.core.blocks import Entry
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import verify
from support.stores import KINDS, block, fresh_address

NUMBER = 50

WRITER = """
import sys
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.open_store import open_store
from support.stores import block
import msgspec

address, who, number, expects = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "expects"
written, conflicts = [], 0
with open_store(address) as store:
    count = store.head("talk").count
    print("ready", flush=True)
    sys.stdin.readline()
    at = 0
    while at < number:
        blocks = [block(f"{who}.{at}.{part}") for part in range(1 + at % 3)]
        try:
            written += store.append("talk", blocks, count if expects else None)
        except TimelineError as error:
            assert expects and error.code == "conflict" and error.details["expected"] == count
            assert error.details["count"] > count
            conflicts += 1
            count = error.details["count"]
            continue
        count = written[-1].seq
        at += 1
print(msgspec.json.encode({"written": written, "conflicts": conflicts}).decode())
"""

FOLLOWER = """
import asyncio, sys
from contextlib import aclosing
from callblocks.timeline.log.open_store import open_store
import msgspec

address, after, last = sys.argv[1], int(sys.argv[2]), sys.argv[3]
seen = []

async def follow(store):
    async with aclosing(store.follow("talk", after)) as entries:
        async for entry in entries:
            seen.append(entry)
            if entry.block.text == last:
                return

with open_store(address) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    asyncio.run(follow(store))
print(msgspec.json.encode({"seen": seen}).decode())
"""


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with fresh_address(request.param, tmp_path) as address:
        yield address


class Program:
    """A process that waits to begin, and says at the end what it saw."""

    def __init__(self, text: str, *values: object) -> None:
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-c", text, *map(str, values)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def ready(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def end(self) -> dict[str, Any]:
        said, _ = self._process.communicate(timeout=120)
        assert self._process.returncode == 0
        return msgspec.json.decode(said)


def begin(*programs: Program) -> None:
    """Let them begin at the same time."""
    for program in programs:
        program.ready()
    for program in programs:
        program.begin()


def entries_of(said: list[Any]) -> list[Entry]:
    return msgspec.convert(said, list[Entry])


@pytest.mark.parametrize("manner", ["expects", "takes what comes"])
def test_two_writers_make_one_chain_that_three_followers_see_alike(
    address: str, manner: str
) -> None:
    with open_store(address) as store:
        writers = [Program(WRITER, address, who, NUMBER, manner) for who in "ab"]
        followers = [Program(FOLLOWER, address, after, "the end") for after in (0, 0, 20)]
        begin(*followers, *writers)
        told = [writer.end() for writer in writers]
        store.append("talk", [block("the end")])
        seen = [entries_of(follower.end()["seen"]) for follower in followers]
        found = list(store.entries("talk"))
        assert verify(store, "talk") == []
    assert [entry.seq for entry in found] == list(range(1, len(found) + 1))
    assert seen == [found, found, found[20:]], "every block once, in order"
    for who, one in zip("ab", told, strict=True):
        assert [entry for entry in found if str(entry.block.text).startswith(f"{who}.")] == (
            entries_of(one["written"])
        )
    # Both began with the same number: one of them came second.
    conflicts = sum(one["conflicts"] for one in told)
    assert conflicts >= 1 if manner == "expects" else conflicts == 0
    # The blocks of one append stand together.
    texts = [str(entry.block.text) for entry in found[:-1]]
    starts = [at for at, text in enumerate(texts) if text.endswith(".0")]
    for start, end in zip(starts, [*starts[1:], len(texts)], strict=True):
        name = texts[start].removesuffix("0")
        assert texts[start:end] == [f"{name}{part}" for part in range(end - start)]
