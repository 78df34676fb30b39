"""A program is killed in the middle of a turn: the next one goes on, or says that it was cut.

What was done is done once, what nobody knows is `indeterminate`, and nothing is there twice.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.blocks import Entry
from callblocks.core.errors import TurnRunning
from callblocks.core.events import (
    CallEnded,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.paths import FilePath
from callblocks.session.model_choice import Attachment
from callblocks.session.session import Session
from callblocks.session.turn_lock import this_owner
from callblocks.timeline.log.transfer import verify
from callblocks.timeline.recorder import GivenFile, Recorder
from support.approvers import Person
from support.dying_session import (
    ANSWER,
    POINTS,
    SessionForks,
    acting_host,
    effects_of,
    yes,
)
from support.scripted_sessions import blocks_of, check_grammar, check_shape, of_type, run_turn

OVER = ("before the prompt", "after the answer")
"""Then no turn is left to resume: the first was not taken, or all of it is there."""
INDETERMINATE = ("after the intent", "after the effect")
EFFECTS = dict.fromkeys(POINTS, 1) | {"before the prompt": 0, "after the intent": 0}
SETTLED = {
    "after the call is written": "cancelled",
    "while a person is asked": "cancelled",
    "after the intent": "indeterminate",
    "after the effect": "indeterminate",
    "before the result": "",
    "after the result": "",
    "before the answer": "",
}


@pytest.fixture(scope="module")
def forks() -> Iterator[SessionForks]:
    with SessionForks() as forks:
        yield forks


def nothing_twice(session: Session) -> None:
    """Each call has one result, each prompt and answer is there once, and the chain is whole."""
    blocks = blocks_of(session)
    once = ("react.tool.call", "user.prompt", "assistant.completion")
    paths = Counter(one.path for one in blocks if one.type in once)
    assert set(paths.values()) <= {1}
    results = Counter(
        (one.call_id, one.meta.get("role")) for one in blocks if one.type == "react.tool.result"
    )
    assert set(results.values()) <= {1}
    called = {one.call_id for one in blocks if one.type == "react.tool.call"}
    assert called == {one.call_id for one in blocks if one.type == "react.tool.result"}
    assert verify(session.recorder.timeline.store, "talk") == []


def codes(session: Session) -> list[str]:
    """How each call ended, by its digest."""
    digests = [one.text or "" for one in blocks_of(session, "react.tool.result")]
    known = ("indeterminate", "cancelled")
    return [next((code for code in known if f'"{code}"' in one), "") for one in digests]


@pytest.mark.parametrize("point", POINTS)
def test_a_turn_goes_on(tmp_path: Path, forks: SessionForks, point: str) -> None:
    forks.die(tmp_path, point)
    model, host = acting_host(tmp_path)
    events: list[TurnEvent] = []
    with host:
        session = host.session("talk", yes)
        ended = asyncio.run(session.resume(tell=events.append))
        if point in OVER:
            assert ended is None
        else:
            assert ended
            assert (ended.turn, ended.status) == ("turn_1", "answered")
            check_grammar(events)
        assert len(effects_of(tmp_path)) == EFFECTS[point]
        nothing_twice(session)
        if point in INDETERMINATE:
            (told,) = of_type(events, CallEnded)
            assert told.outcome.error.code == "indeterminate"
            assert "indeterminate" in codes(session)
        for request in model.requests:
            check_shape(request.messages)
        if point == "before the prompt":
            assert blocks_of(session) == []
        else:
            assert [one.text for one in blocks_of(session, "user.prompt")] == ["Go."]
            assert [one.text for one in blocks_of(session, "assistant.completion")] == [ANSWER]
            assert asyncio.run(session.resume(tell=print)) is None


@pytest.mark.parametrize("point", POINTS)
def test_a_turn_is_marked_as_interrupted(tmp_path: Path, forks: SessionForks, point: str) -> None:
    forks.die(tmp_path, point)
    model, host = acting_host(tmp_path)
    with host:
        session = host.session("talk", yes)
        before = len(effects_of(tmp_path))
        ended = session.settle()
        assert session.settle() is None
        if point in OVER:
            assert ended is None
            return
        assert ended == TurnEnded(
            turn="turn_1",
            status="interrupted",
            code="interrupted",
            message="the program ended while the turn ran",
        )
        nothing_twice(session)
        assert [code for code in codes(session) if code] == [
            *filter(None, [SETTLED.get(point, "")])
        ]
        assert len(effects_of(tmp_path)) == before
        model.begin("And here I am.")
        asyncio.run(run_turn(session, "Are you there?"))
        check_shape(model.requests[0].messages)
        assert [one.meta["status"] for one in blocks_of(session, "timeline.turn")] == [
            "interrupted",
            "answered",
        ]


@pytest.mark.parametrize("point", ["in the middle of a reply", "after the effect"])
def test_a_new_turn_settles_the_one_before(tmp_path: Path, forks: SessionForks, point: str) -> None:
    forks.die(tmp_path, point)
    _, host = acting_host(tmp_path)
    with host:
        session = host.session("talk", yes)
        events = asyncio.run(run_turn(session, "Go again."))
        check_grammar(events)
        statuses = [one.meta["status"] for one in blocks_of(session, "timeline.turn")]
        assert statuses == ["interrupted", "answered"]
        nothing_twice_in_turns(session)


def nothing_twice_in_turns(session: Session) -> None:
    paths = Counter(one.path for one in blocks_of(session, "react.tool.call"))
    assert set(paths.values()) <= {1}


def test_a_turn_that_was_settled_can_still_go_on(tmp_path: Path, forks: SessionForks) -> None:
    forks.die(tmp_path, "after the call is written")
    _, host = acting_host(tmp_path)
    with host:
        session = host.session("talk", yes)
        session.settle()
        ended = asyncio.run(session.resume(tell=lambda event: None))
        assert ended
        assert (ended.turn, ended.status) == ("turn_1", "answered")
        assert effects_of(tmp_path) == []
        nothing_twice(session)


def test_an_approval_that_came_after_the_death_lets_the_call_run(
    tmp_path: Path, forks: SessionForks
) -> None:
    forks.die(tmp_path, "while a person is asked")
    _, host = acting_host(tmp_path)
    with host:
        (asked,) = host.book.list("pending")
        host.book.approve(asked.id)
        nobody = Person()
        ended = asyncio.run(host.session("talk", nobody).resume(tell=lambda event: None))
        assert ended
        assert ended.status == "answered"
        assert nobody.questions == []
        assert len(effects_of(tmp_path)) == 1


def test_one_that_dies_again_and_again_goes_on_at_last(tmp_path: Path, forks: SessionForks) -> None:
    forks.die(tmp_path, "in the middle of a reply")
    _, host = acting_host(tmp_path)
    with host:
        session = host.session("talk", yes)

        async def cut() -> None:
            async def go_on() -> None:
                await session.resume(tell=lambda event: None)

            going = asyncio.ensure_future(go_on())
            await asyncio.sleep(0)
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)

        for _ in range(3):
            asyncio.run(cut())
        ended = asyncio.run(session.resume(tell=lambda event: None))
        assert ended
        assert ended.status == "answered"
        assert len(effects_of(tmp_path)) == 1
        nothing_twice(session)


def test_a_turn_is_never_on_the_timeline_without_its_prompt(tmp_path: Path) -> None:
    _, host = acting_host(tmp_path)
    with host:
        session = host.session("talk", yes)
        appended: list[list[str]] = []
        append = session.recorder.timeline.append

        def watched(blocks: Any, expected: int | None = None) -> list[Entry]:
            made = list(blocks)
            appended.append([block.type for block in made])
            return append(made, expected)

        session.recorder.timeline.append = watched
        file = Attachment("a.txt", b"hello")
        asyncio.run(run_turn(session, "Go.", file))
        attached = ["user.attachment"] * 2
        assert appended[0] == ["timeline.settings", *attached, "user.prompt"]


def test_a_turn_that_was_left_without_a_prompt_is_not_resumed(tmp_path: Path) -> None:
    """Older versions took the turn before they wrote what it was about."""
    _, host = acting_host(tmp_path)
    with host:
        session = host.session("talk", yes)
        session.recorder.new_turn(f"{this_owner()}#999999")
        assert asyncio.run(session.resume(tell=print)) is None
        assert [one.meta["status"] for one in blocks_of(session, "timeline.turn")] == [
            "interrupted"
        ]


def test_two_writers_never_attach_into_one_turn(tmp_path: Path) -> None:
    """A writer that lost the race for a turn leaves nothing in the other's folder."""
    _, host = acting_host(tmp_path)
    with host:
        mine = host.session("talk").recorder
        other = Recorder(mine.timeline, mine.holdings.files, mine.holdings.artifacts)
        write, written = mine.holdings.files.write, list[str]()

        def overtaken(path: FilePath, content: bytes) -> None:
            write(path, content)
            written.append(path.physical)
            if len(written) == 1:
                other.take_over("turn_1", "other")

        mine.holdings.files.write = overtaken
        taken = mine.begin_turn("Mine.", [GivenFile("a.txt", b"mine")])
        assert written == ["turn_1/attachments/a.txt", "turn_2/attachments/a.txt"]
        assert taken == "turn_2"
        assert list(mine.holdings.files.turns()) == ["turn_2"]


LIVING = """
import asyncio, sys
from pathlib import Path
from callblocks.core.events import Text
from support.dying_session import acting_host
from support.model_events import inner

def tell(event):
    if isinstance(inner(event), Text):
        print("talks", flush=True)

_, host = acting_host(Path(sys.argv[1]), is_silent=True)
asyncio.run(host.session("talk").run("Go.", tell=tell))
"""


def test_the_turn_of_a_program_that_lives_is_left_alone(tmp_path: Path) -> None:
    path = os.pathsep.join(filter(None, sys.path))
    living = subprocess.Popen(
        [sys.executable, "-c", LIVING, tmp_path],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
    )
    try:
        assert living.stdout is not None
        assert living.stdout.readline() == b"talks\n"
        _, host = acting_host(tmp_path)
        with host:
            session, other = host.session("talk", yes), host.session("other", yes)
            count = len(blocks_of(session))
            for begin in (session.run("Go.", tell=print), session.resume(tell=print)):
                with pytest.raises(TurnRunning):
                    asyncio.run(begin)
            assert session.settle() is None
            assert len(blocks_of(session)) == count
            assert other.settle() is None
            asyncio.run(run_turn(other, "Go."))
            assert len(blocks_of(session)) == count
            living.send_signal(signal.SIGKILL)
            living.wait(timeout=120)
            ended = asyncio.run(session.resume(tell=lambda event: None))
            assert ended
            assert ended.status == "answered"
    finally:
        living.kill()
        living.wait(timeout=120)
        if living.stdout is not None:
            living.stdout.close()
