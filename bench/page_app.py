"""The server that `page` looks at: python -m bench.page_app BLOCKS

It writes a chat `long` of so many blocks, prints its port, and serves until it is ended. Its model
says what time it is: "tick 100 20" gives a hundred pieces, twenty a second.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from callblocks.core.blocks import Block
from callblocks.core.calls import Call
from callblocks.core.outcomes import Outcome
from callblocks.models.model import Piece, Request, Spoken
from callblocks.server.app import Server, bind, make_app
from callblocks.server.settings import ServerSettings
from callblocks.session.host import Host, HostSettings
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import TIMELINES
from callblocks.toolkits.turn_files import open_recorder

__all__ = ("write_long_chat",)

_SETTINGS = ServerSettings(port=0, no_token=True, rate=1e6, burst=100_000)
_TS = "2030-01-31T12:00:00Z"
_CALLS = 6


class Ticks:
    """A model whose pieces are the time at which each was said, in milliseconds."""

    name = "ticks"
    writes_results = False

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """`tick COUNT RATE`: so many, so many a second, never catching up with what is late."""
        _, count, rate = request.prompt.split()
        due = time.perf_counter()
        for _ in range(int(count)):
            due += 1 / float(rate)
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            yield Spoken(f"t{time.time() * 1000:.2f} ")
        yield Spoken("over")

    async def close(self) -> None:
        """There is nothing to close."""


def write_long_chat(state: Path, name: str, blocks: int) -> None:
    """Write a chat of so many blocks: turns with a question, six calls and an answer."""
    with open_recorder(state, name) as recorder:
        number = 0
        while recorder.timeline.head().count < blocks:
            number += 1
            _write_turn(recorder, number)


def write_chats(state: Path, count: int) -> None:
    """Write so many chats of one turn each."""
    with open_store(state / TIMELINES) as store:
        for at in range(count):
            said = (
                ("user.prompt", "user", f"When is low water at island {at}?"),
                ("assistant.completion", "assistant", f"At island {at} it is at 06:12."),
            )
            store.append(f"chat-{at}", [_block(*one) for one in said])


def _block(kind: str, author: str, text: str) -> Block:
    path = f"ar:turn_1.{kind}"
    return Block(type=kind, author=author, turn_id="turn_1", ts=_TS, path=path, text=text)


def _write_turn(recorder: Recorder, number: int) -> None:
    turn = recorder.new_turn()
    calls = [
        Call(id=f"c{number}_{at}", name="look_up", input={"place": f"pier {number}.{at}"})
        for at in range(_CALLS)
    ]
    with recorder.together():
        recorder.prompt(turn, f"When is low water at pier {number}?")
        for call in calls:
            recorder.started(turn, call)
    with recorder.together():
        for call in calls:
            output = f"low water at {call.input['place']} is 06:12"
            recorder.ended(turn, call, Outcome(id=call.id, name=call.name, output=output))
        recorder.completion(turn, f"At pier {number} it is at **06:12**, and again at *18:41*.")
    recorder.end_turn(turn, status="answered")


def main() -> None:
    """Write the chat, and serve."""
    with bind(_SETTINGS) as bound, tempfile.TemporaryDirectory() as folder:
        state, workspace = Path(folder, "state"), Path(folder, "work")
        workspace.mkdir()
        write_long_chat(state, "long", int(sys.argv[1]))
        write_chats(state, int(sys.argv[2]))
        settings = HostSettings(state=state, workspace=workspace, model=Ticks())
        bound.listen(100)
        print(bound.getsockname()[1], flush=True)
        Server(_SETTINGS, make_app(_SETTINGS, lambda: Host(settings))).run([bound])


if __name__ == "__main__":
    main()
