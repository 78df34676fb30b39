from __future__ import annotations

from pathlib import Path

import pytest

from callblocks.core.calls import Call
from callblocks.core.outcomes import Outcome
from callblocks.views.ui.ai_sdk.tool_parts import VERSIONS, Version
from callblocks.views.ui.ai_sdk.ui_messages import prompt_id, reply_id, ui_messages
from support.recorded_sessions import a_session
from support.sample_timelines import a_talk, called, entries, said


def test_a_talk_is_a_message_of_each_side() -> None:
    user, assistant = ui_messages(entries(a_talk()), 6)
    assert user == {
        "id": prompt_id("turn_1"),
        "role": "user",
        "metadata": {"turn": "turn_1"},
        "parts": [{"type": "text", "text": "Add them up."}],
    }
    assert (assistant["id"], assistant["role"]) == (reply_id("turn_1"), "assistant")
    assert assistant["metadata"] == {"turn": "turn_1", "status": "answered"}
    states = [part["state"] for part in assistant["parts"] if "toolCallId" in part]
    assert states == ["output-available", "output-error", "output-available"]
    texts = [part["text"] for part in assistant["parts"] if part["type"] == "text"]
    assert texts == ["I will add them.", "And a report.", "It is 3."]


def test_a_turn_that_runs_has_only_what_the_person_said() -> None:
    blocks = [said("user.prompt", "Hi.", author="user"), said("react.notes", "Well,")]
    (user,) = ui_messages(entries(blocks), running="turn_1")
    assert user["role"] == "user"
    assert ui_messages([]) == []


def test_a_turn_that_said_nothing_yet_has_no_message() -> None:
    (user,) = ui_messages(entries([said("user.prompt", "Hi.", author="user")]))
    assert user["role"] == "user"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_turn_that_was_interrupted_is_shown_as_far_as_it_came(version: Version) -> None:
    blocks = [said("user.prompt", "Hi."), said("react.notes", "Well,"), called("c1"), called("c2")]
    _, assistant = ui_messages(entries(blocks), version, interrupted="turn_1")
    assert assistant["metadata"]["status"] == "interrupted"
    _, text, *calls = assistant["parts"]
    assert (text["text"], text["state"]) == ("Well,", "done")
    assert [call["state"] for call in calls] == ["input-available"] * 2
    _, elsewhere = ui_messages(entries(blocks), version)
    assert elsewhere["parts"] == assistant["parts"]
    assert elsewhere["metadata"] == {"turn": "turn_1"}


def test_files_that_the_person_gave_can_be_fetched(tmp_path: Path) -> None:
    with a_session(tmp_path) as session:
        turn = session.recorder.new_turn()
        session.recorder.attach(turn, "notes.md", b"# Notes\n")
        session.recorder.prompt(turn, "Look.")
        (message,) = ui_messages(session.timeline.entries())
        file, text = message["parts"]
        digest = file["url"].removeprefix("/api/artifacts/")
        assert session.artifacts.read(digest) == b"# Notes\n"
    assert (file["type"], file["mediaType"], file["filename"]) == (
        "file",
        "text/markdown",
        "notes.md",
    )
    assert text == {"type": "text", "text": "Look."}


def test_messages_of_several_turns_keep_their_order(tmp_path: Path) -> None:
    with a_session(tmp_path) as session:
        for _ in range(2):
            turn = session.recorder.new_turn()
            session.recorder.prompt(turn, "Go.")
            call = Call(id="c1", name="add")
            session.recorder.started(turn, call)
            session.recorder.ended(turn, call, Outcome(id="c1", name="add", output=3))
            session.recorder.end_turn(turn, status="answered")
        messages = ui_messages(session.timeline.entries(), 7)
    assert [message["role"] for message in messages] == ["user", "assistant"] * 2
    assert len({message["id"] for message in messages}) == 4
