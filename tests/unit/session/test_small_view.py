"""A talk with little room: what is folded, hidden or left out is still a talk."""

from __future__ import annotations

import asyncio
from pathlib import Path

from callblocks.core.calls import Call
from callblocks.session.model_choice import Choice, Offered, SessionSettings
from callblocks.session.team_file import Member, TeamSettings, Voice
from callblocks.toolkits.react_tools import react_tools
from callblocks.tools.registry import Registry
from support.played_turns import LOOKING, Played
from support.scripted_sessions import Replies, run_turn, some_host, texts, write

LONG = "word " * 400


def played(folder: Path, budget: int, *rounds: list[Call]) -> Played:
    """A turn in which each round has these calls."""
    limits = SessionSettings(budget=budget, rounds=20)
    model = Replies(size=10_000)
    with some_host(folder, model, tools=LOOKING, session=limits) as host:
        session = host.session("talk")
        tools = [*LOOKING.tools, *react_tools(session.recorder, "turn_1")]
        model.begin(*(write("tool-fence", "I look.\n", *calls, tools=tools) for calls in rounds))
        return Played(model, asyncio.run(run_turn(session, "Look around.")), session)


def look(id: str, place: str) -> Call:
    return Call(id=id, name="look", input={"place": place})


def test_older_rounds_of_a_turn_are_folded_to_lines_of_the_user(tmp_path: Path) -> None:
    rounds = [[look(f"c{at}", f"{at} {LONG}")] for at in range(6)]
    turn = played(tmp_path, 2500, *rounds)
    said = turn.sent(-1)
    (_, first), *_, (_, last) = said
    assert "[User say]: Look around." in first
    assert "[TOOL CALL c0] look → ok" in "".join(text for role, text in said if role == "user")
    assert all("[TOOL CALL" not in text for role, text in said if role == "assistant")
    assert "```tool look c5" in last


def test_a_call_that_is_too_large_to_be_shown_is_not_shown_with_its_result(tmp_path: Path) -> None:
    turn = played(tmp_path, 300, [look("c1", f"far {LONG}")])
    sent = turn.sent(1)
    assert sum(len(text) for _, text in sent) < 2000
    assert "too many to show here" in sent[-1][1] or "[TOOL CALL c1]" in sent[-1][1]


def test_what_is_hidden_stands_as_its_placeholder_and_can_be_read_again(tmp_path: Path) -> None:
    path = "tc:turn_1.c1.result"
    turn = played(
        tmp_path,
        100_000,
        [look("c1", "garden")],
        [Call(id="h1", name="react.hide", input={"path": path})],
        [Call(id="r1", name="react.read", input={"paths": [path]})],
        [Call(id="r2", name="react.read", input={"paths": [path]})],
    )
    assert turn.codes == [""] * 4
    shown, hidden, read, again = (turn.sent(at)[2][1] for at in (1, 2, 3, 4))
    assert "a garden" in shown
    assert "a garden" not in hidden
    assert "a garden" not in read
    assert "a garden" in turn.sent(3)[-1][1]
    # What the model sees already is not repeated.
    assert "a garden" not in turn.sent(4)[-1][1]
    assert again == hidden


def test_what_was_folded_away_can_be_read_again(tmp_path: Path) -> None:
    rounds = [[look(f"c{at}", f"{at} {LONG}")] for at in range(6)]
    read = Call(id="r1", name="react.read", input={"paths": ["tc:turn_1.c0.result"]})
    turn = played(tmp_path, 2500, *rounds, [read])
    assert "a 0 word" in turn.sent(-1)[-1][1]


def test_earlier_turns_are_shown_in_the_dialect_of_the_model(tmp_path: Path) -> None:
    model = Replies(write("tool-fence", look("c1", "garden"), tools=LOOKING.tools), "Nice.", "Yes.")
    with some_host(tmp_path, model, tools=Registry(LOOKING.tools)) as host:
        session = host.session("talk")
        asyncio.run(run_turn(session, "Look."))
        asyncio.run(run_turn(session, "And?"))
    first, called, given, answered, last = texts(model.requests[-1].messages)
    assert first[1].endswith("[User say]: Look.\n")
    assert (called[0], called[1].startswith("```tool look c1")) == ("assistant", True)
    assert (given[0], "a garden" in given[1]) == ("user", True)
    assert answered == ("assistant", "Nice.\n")
    assert last[1].endswith("[User say]: And?\n")


class Narrow(Replies):
    """A model that takes few tokens."""

    def __init__(self, name: str, context: int | None) -> None:
        super().__init__(size=10_000)
        self.name = name
        self.context = context

    def sent(self) -> int:
        return sum(len(text) for _, text in texts(self.requests[-1].messages))


def test_each_model_is_shown_as_much_as_its_own_context_has_room_for(tmp_path: Path) -> None:
    wide, narrow = Narrow("wide", None), Narrow("narrow", 1000)
    limits = SessionSettings()
    assert [limits.budget_of(model) for model in (wide, narrow)] == [limits.budget, 500]
    assert SessionSettings(budget=None).budget_of(narrow) is None
    with some_host(tmp_path, wide, others=(Offered(narrow),), session=limits) as host:
        session = host.session("talk")
        asyncio.run(session.run(f"first {LONG * 10}", tell=lambda _: None))
        before = wide.requests[-1].messages
        asyncio.run(session.run("Go on.", choice=Choice(model="narrow"), tell=lambda _: None))
        assert narrow.sent() < len(LONG * 10) < wide.sent()
        asyncio.run(session.run("And on.", tell=lambda _: None))
        # What another model was shown does not change the beginning of what this one is.
        assert wide.requests[-1].messages[: len(before)] == before


def test_a_member_of_a_team_is_shown_as_much_as_its_own_context_has_room_for(
    tmp_path: Path,
) -> None:
    wide, narrow = Narrow("wide", None), Narrow("narrow", 1000)
    team = TeamSettings(members=(Member(name="small", model=narrow),), consensus=Voice(model=wide))
    with some_host(tmp_path, wide, team=team) as host:
        asyncio.run(host.session("talk").run(f"first {LONG * 10}", tell=lambda _: None))
    assert narrow.sent() < len(LONG * 10) < wide.sent()
