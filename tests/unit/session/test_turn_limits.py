"""A turn that is cut: by a limit, by a model that breaks off, or by an empty reply."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.calls import Call
from callblocks.core.errors import ModelError
from callblocks.core.events import (
    Reasoning,
    Text,
    TurnEvent,
)
from callblocks.models.model import Spoken, Stopped, Thinking, Usage
from callblocks.session.model_choice import SessionSettings
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.played_turns import GOOD, calls, play
from support.scripted_sessions import Never, Replies, of_type, run_turn, some_host


@pytest.mark.parametrize(
    ("limits", "says", "code"),
    [
        ({"rounds": 2}, [calls("tool-fence", GOOD)] * 3, "round_limit"),
        ({"tokens": 8}, [calls("tool-fence", GOOD)] * 3, "token_limit"),
        ({}, [["Half an ans", Stopped("length")]], "reply_cut"),
    ],
)
def test_a_limit_ends_the_turn(
    tmp_path: Path, limits: dict[str, Any], says: list[Any], code: str
) -> None:
    played = play(tmp_path, *says, limits=limits)
    assert played.ended == ("limited", code)
    assert played.blocks[-1].type == "timeline.turn"
    assert played.blocks[-1].meta["code"] == code


def test_the_answer_may_come_with_the_last_tokens(tmp_path: Path) -> None:
    assert play(tmp_path, "Yes.", limits={"tokens": 1, "rounds": 1}).end.status == "answered"


def test_what_the_replies_cost_is_added_up(tmp_path: Path) -> None:
    played = play(tmp_path, calls("tool-fence", GOOD), ["Yes.", Usage(1, 2)])
    assert (played.end.tokens_in, played.end.tokens_out) == (21, 12)
    assert played.blocks[-1].meta["tokens_out"] == 12


def test_calls_past_the_limit_do_not_run_and_are_told(tmp_path: Path) -> None:
    three = [Call(id=f"c{at}", name="look", input={"place": "x"}) for at in range(3)]
    played = play(
        tmp_path,
        calls("tool-fence", *three),
        calls("tool-fence", GOOD),
        "Yes.",
        limits={"calls": 2},
    )
    assert played.codes == ["", "", "limit_reached", "limit_reached"]
    assert "a turn makes 2 calls at most" in played.sent(1)[-1][1]


def test_time_ends_a_turn_while_a_call_runs(tmp_path: Path) -> None:
    @tool(read_only=True)
    async def sleep() -> str:
        """Sleep."""
        await asyncio.sleep(60)
        return ""

    said = calls("tool-fence", Call(id="c1", name="sleep"))
    played = play(tmp_path, said, host={"tools": Registry([sleep])}, limits={"seconds": 0.05})
    assert played.ended == ("limited", "time_limit")
    assert played.codes == ["cancelled"]


def test_time_ends_a_turn_while_the_model_is_silent(tmp_path: Path) -> None:
    played = play(tmp_path, ["Well", Never], limits={"seconds": 0.05})
    assert played.ended == ("limited", "time_limit")
    assert played.texts("assistant.completion") == ["Well"]


def test_a_reply_that_is_too_long_is_cut_off(tmp_path: Path) -> None:
    played = play(tmp_path, ["So long " * 100, Never], limits={"text": 100})
    assert played.ended == ("failed", "model_too_long")
    (kept,) = played.texts("assistant.completion")
    assert len(kept) == 100


def test_a_reply_of_just_the_length_is_whole(tmp_path: Path) -> None:
    played = play(tmp_path, "So long " * 10, limits={"text": 80})
    assert (played.end.status, played.texts("assistant.completion")[0][:7]) == (
        "answered",
        "So long",
    )


@pytest.mark.parametrize("kind", [Spoken, Thinking])
def test_of_a_piece_that_is_too_long_only_what_has_room_is_read(
    tmp_path: Path, kind: type[Any]
) -> None:
    played = play(tmp_path, [kind("x" * 5_000_000), Never], limits={"text": 50_000})
    assert played.ended == ("failed", "model_too_long")
    told = of_type(played.events, Text, Reasoning)
    assert sum(len(event.text) for event in told) == 50_000
    assert len(told) == 4


def test_a_long_piece_does_not_hold_the_loop(tmp_path: Path) -> None:
    said = "word " * 40_000
    events: list[TurnEvent] = []
    steps = 0

    async def count() -> None:
        nonlocal steps
        while True:
            await asyncio.sleep(0)
            steps += bool(of_type(events, Text))

    async def main() -> None:
        counting = asyncio.ensure_future(count())
        await host.session("talk").run("Go.", tell=events.append)
        counting.cancel()

    with some_host(tmp_path, Replies([Spoken(said)])) as host:
        asyncio.run(main())
        assert "".join(event.text for event in of_type(events, Text)) == said
    assert steps >= 12


@pytest.mark.parametrize("said", ["", "  \n ", [], [Thinking("Hm.")]])
def test_an_empty_reply_fails_the_turn(tmp_path: Path, said: Any) -> None:
    played = play(tmp_path, said)
    assert played.ended == ("failed", "empty_reply")
    assert played.texts("assistant.completion") == []


def test_a_reply_cut_inside_a_call_is_asked_for_again(tmp_path: Path) -> None:
    cut = [calls("tool-fence", GOOD)[:20], Stopped("length")]
    played = play(tmp_path, cut, "Yes.")
    assert played.end.status == "answered"
    assert "your reply was cut at its largest length" in played.sent(1)[-1][1]


def test_a_call_without_its_end_does_not_run(tmp_path: Path) -> None:
    played = play(
        tmp_path, ["🛠️[look garden]\nmore", Stopped("length")], "Yes.", dialect="emoji-bracket"
    )
    assert played.codes == ["unended_call"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelError("model_timeout", "no word for 60 s"), "model_timeout"),
        (ValueError("a bug"), "model_failed"),
        (RuntimeError("generator raised StopIteration"), "model_failed"),
    ],
)
def test_a_model_that_breaks_keeps_what_it_said(
    tmp_path: Path, error: Exception, code: str
) -> None:
    played = play(tmp_path, ["Half an answer.", error])
    assert played.ended == ("failed", code)
    (completion,) = (one for one in played.blocks if one.type == "assistant.completion")
    assert completion.text == "Half an answer."
    assert completion.meta["is_partial"]


def test_calls_of_a_reply_that_broke_do_not_run(tmp_path: Path) -> None:
    error = ModelError("model_unreachable", "the connection broke")
    played = play(tmp_path, [calls("tool-fence", "Well.\n", GOOD), "And the", error])
    assert played.ended == ("failed", "model_unreachable")
    assert played.codes == ["cancelled"]
    assert played.texts("react.notes") == ["Well.", "And the"]


def test_a_call_cut_by_a_fault_is_kept_as_text(tmp_path: Path) -> None:
    error = ModelError("model_unreachable", "the connection broke")
    played = play(tmp_path, [calls("tool-fence", GOOD)[:20], error])
    assert played.texts("assistant.completion") == ["```tool look c1\ninpu"]


def test_the_model_is_closed_when_the_turn_is_over(tmp_path: Path) -> None:
    model = Replies(["x" * 200, Never])
    with some_host(tmp_path, model, session=SessionSettings(text=50)) as host:
        asyncio.run(run_turn(host.session("talk"), "Go."))
    assert model.closed == 1


def test_a_model_that_says_nothing_to_its_results_is_asked_once_more(tmp_path: Path) -> None:
    played = play(tmp_path, calls("tool-fence", GOOD), "", "A garden.")
    assert played.ended == ("answered", "")
    assert "empty_reply" in played.sent(2)[-1][1]
    (tmp_path / "silent").mkdir()
    silent = play(tmp_path / "silent", calls("tool-fence", GOOD), "", "", "Too late.")
    assert silent.ended == ("failed", "empty_reply")
