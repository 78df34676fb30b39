"""A model is told the day, beside the newest prompt, and by the clock of the timeline."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from callblocks.session.prompt import date_line
from callblocks.session.session import Session
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import Timeline
from support.memory_artifacts import MemoryArtifacts
from support.memory_files import MemoryFiles
from support.played_turns import BAD, GOOD, LOOKING
from support.scripted_sessions import ALLOW_ALL, Replies, run_turn, texts, write

LATE = datetime(2026, 11, 15, 23, 30, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("ts", "zone", "line"),
    [
        ("2026-11-16T09:00:00Z", "UTC", "[Date]: Monday 2026-11-16 (UTC)\n"),
        ("2026-11-15T23:30:00Z", "Europe/Berlin", "[Date]: Monday 2026-11-16 (Europe/Berlin)\n"),
        ("2026-11-15T23:30:00Z", "America/Lima", "[Date]: Sunday 2026-11-15 (America/Lima)\n"),
        ("some day", "UTC", ""),
        ("", "UTC", ""),
        ("0001-01-01T00:00:00Z", "America/Lima", ""),
        ("2026-11-16T09:00:00Z", "Nowhere/Land", ""),
    ],
)
def test_a_day_is_that_of_its_zone(ts: str, zone: str, line: str) -> None:
    assert date_line(ts, zone) == line


def test_each_turn_keeps_its_day_and_later_requests_begin_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    now = [LATE]
    said = write("tool-fence", GOOD, BAD, tools=LOOKING.tools)
    model = Replies(said, "One.", said, "Two.")
    with Timeline.open(tmp_path / "timeline.sqlite", "talk") as timeline:
        recorder = Recorder(timeline, MemoryFiles(), MemoryArtifacts(), clock=lambda: now[0])
        session = Session(recorder, model, tools=LOOKING, policy=ALLOW_ALL, dialect="tool-fence")
        for prompt in ("Look.", "Again."):
            asyncio.run(run_turn(session, prompt))
            now[0] += 86_400 * 2
    first, second, third, fourth = (texts(request.messages) for request in model.requests)
    assert first[0] == ("user", "[Date]: Monday 2026-11-16 (Europe/Berlin)\n[User say]: Look.\n")
    assert second[0] == first[0]
    again = "[Date]: Wednesday 2026-11-18 (Europe/Berlin)\n[User say]: Again.\n"
    assert third[-1] == ("user", again)
    # What is before it is the same for ever: a provider may keep it.
    assert third[: len(second)] == second
    assert fourth[: len(third)] == third
    system = {request.messages[0] for request in model.requests}
    assert len(system) == 1
