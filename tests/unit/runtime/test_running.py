from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.core.events import CallBegan, CallTold
from callblocks.core.outcomes import Outcome
from callblocks.core.specs import ToolSpec
from callblocks.runtime.journal import Journal, JournalEntry
from callblocks.runtime.judgement import Progress, Turn
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Checked, Context, Tool
from support.tool_runtime import call, run, run_one


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "journal")
    yield opened
    opened.close()


def code(outcome: Outcome) -> str:
    return outcome.error.code if outcome.error else ""


def test_the_intent_is_written_before_the_effect(journal: Journal, tmp_path: Path) -> None:
    seen: list[JournalEntry] = []

    @tool
    def act(password: str, what: str) -> str:
        """Act."""
        other = Journal(tmp_path / "journal")
        seen.extend(other.entries())
        other.close()
        return "done"

    acting = call("act", password="hunter2hunter2", what="x")
    outcome = run_one([act], acting, journal=journal, turn=Turn("t"))
    (before,), (after,) = seen, journal.entries()
    assert (before.state, before.intent.turn, before.intent.call) == ("running", "t", "c1")
    assert before.intent.input == {"password": "••••••••", "what": "x"}
    assert (after.state, after.outcome) == ("ended", outcome)


def test_what_only_reads_is_not_written_down(journal: Journal) -> None:
    @tool(read_only=True)
    def look() -> str:
        """Look."""
        return "seen"

    assert run_one([look], call("look"), journal=journal).ok
    assert journal.entries() == []


def test_a_failure_is_written_down_too(journal: Journal) -> None:
    @tool
    def fail() -> None:
        """Fail."""
        raise ToolError("no_tea", "there is no tea")

    outcome = run_one([fail], call("fail"), journal=journal, turn=Turn("t"))
    assert journal.entries()[0].outcome == outcome
    assert run_one([fail], call("fail"), journal=journal, turn=Turn("t")) == outcome


def test_the_tool_gets_the_key_that_was_written_down(journal: Journal) -> None:
    @tool
    def act(context: Context) -> str:
        """Act."""
        return context.key

    assert run_one([act], call("act"), journal=journal).output == journal.entries()[0].intent.key


@pytest.fixture
def done() -> list[str]:
    return []


@pytest.fixture
def act(done: list[str]) -> Tool:
    @tool
    def act() -> str:
        """Act."""
        done.append("act")
        return "done"

    return act


def test_a_journal_that_cannot_be_written_stops_the_effect(
    journal: Journal, act: Tool, done: list[str]
) -> None:
    journal._store.execute("pragma query_only = 1")
    outcome = run_one([act], call("act"), journal=journal)
    assert (code(outcome), done) == ("not_kept", [])
    assert outcome.error
    assert "could not be recorded" in outcome.error.message


def test_a_full_journal_stops_the_effect(journal: Journal, act: Tool, done: list[str]) -> None:
    pages = journal._store.execute("pragma page_count").fetchone()[0]
    journal._store.execute(f"pragma max_page_count = {pages}")

    @tool
    def write(text: str) -> None:
        """Write."""
        done.append("write")

    outcome = run_one([write], call("write", text="x" * 10_000), journal=journal)
    assert (code(outcome), done) == ("not_kept", [])
    assert outcome.error
    assert "full" in outcome.error.message


def test_a_closed_journal_stops_the_effect(tmp_path: Path, act: Tool, done: list[str]) -> None:
    journal = Journal(tmp_path / "closed")
    journal.close()
    assert code(run_one([act], call("act"), journal=journal)) == "not_kept"
    assert not done


def test_an_id_that_cannot_be_written_stops_the_effect(
    journal: Journal, act: Tool, done: list[str]
) -> None:
    assert code(run_one([act], call("act", "\ud800"), journal=journal)) == "not_kept"
    assert not done


def test_an_end_that_cannot_be_written_is_told_beside_the_output(journal: Journal) -> None:
    @tool
    def act() -> str:
        """Act, and break the journal."""
        return "done"

    def listen(progress: Progress) -> None:
        if isinstance(progress, CallBegan):
            journal._store.execute("pragma query_only = 1")

    outcome = run_one([act], call("act"), journal=journal, listen=listen)
    assert outcome.output == "done"
    assert [notice.code for notice in outcome.notices] == ["not_kept"]


def test_a_call_that_still_runs_elsewhere_is_not_begun_again(
    journal: Journal, act: Tool, done: list[str], tmp_path: Path
) -> None:
    run_one([act], call("act"), journal=journal, turn=Turn("t"))
    connection = sqlite3.connect(tmp_path / "journal", isolation_level=None)
    connection.execute("update intents set ended = null, outcome = null")
    connection.close()
    assert code(run_one([act], call("act"), journal=journal, turn=Turn("t"))) == "indeterminate"
    assert done == ["act"]


class Leaving:
    """Ends the program when it is shown."""

    def __init__(self, how: type[BaseException]) -> None:
        self.how = how

    def __str__(self) -> str:
        raise self.how


@pytest.mark.parametrize("how", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_value_that_ends_the_program_when_it_is_written_ends_only_its_call(
    how: type[BaseException],
) -> None:
    @tool
    def act() -> Any:
        """Give an odd value."""
        return {"deep": [Leaving(how)]}

    @tool
    def fine() -> int:
        """Work."""
        return 1

    bad, good = run([act, fine], call("act"), call("fine", "b"))
    assert bad.error
    assert (bad.error.code, bad.error.where) == ("bad_output", "act")
    assert bad.error.message == f"{how.__name__} when its output was read"
    assert good.output == 1


@pytest.mark.parametrize("how", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_an_exception_that_ends_the_program_when_it_is_shown_ends_only_its_call(
    how: type[BaseException],
) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise how

    class OddBase(BaseException):
        def __str__(self) -> str:
            raise how

    @tool
    def act(base: bool) -> None:
        """Fail oddly."""
        raise OddBase if base else Odd

    for base in (False, True):
        outcome = run_one([act], call("act", base=base))
        assert outcome.error
        assert outcome.error.code == "tool_error"
        assert "Odd" in outcome.error.message


def cyclic() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


class Unsayable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    "odd",
    [cyclic(), {("a",): 1}, 10**5000, {"deep": Unsayable()}, Leaving(SystemExit)],
    ids=["cyclic", "key", "digits", "unsayable", "leaving"],
)
def test_details_that_cannot_be_written_are_left_out(odd: Any) -> None:
    @tool
    def act(context: Context) -> None:
        """Fail, and say odd things."""
        context.notice("odd", "see", odd=odd)
        raise ToolError("odd", "see", odd=odd)

    @tool
    def fine() -> int:
        """Work."""
        return 1

    bad, good = run([act, fine], call("act"), call("fine", "b"))
    assert bad.error
    assert (bad.error.code, good.output) == ("odd", 1)
    assert set(bad.error.details) == {"left_out"}
    assert set(bad.notices[0].details) == {"left_out"}


@pytest.mark.parametrize(
    "said", [None, 5, b"bytes", ["a"], Unsayable(), Leaving(SystemExit), "\ud800"]
)
def test_what_is_no_text_becomes_one(said: Any) -> None:
    @tool
    def act(context: Context) -> None:
        """Fail, and say what is no text."""
        context.notice(said, said)
        context.taint(said)
        raise ToolError(said, said)

    turn = Turn()
    outcome = run_one([act], call("act"), turn=turn)
    assert outcome.error
    texts = [outcome.error.code, outcome.error.message, *turn.tainted]
    texts += [outcome.notices[0].code, outcome.notices[0].message]
    assert all(type(text) is str for text in texts)
    "".join(texts).encode()


def test_a_long_message_is_cut() -> None:
    @tool
    def act() -> None:
        """Fail at length."""
        raise ValueError("x" * 10_000)

    outcome = run_one([act], call("act"))
    assert outcome.error
    assert len(outcome.error.message) == 4001
    assert outcome.error.message.endswith("x…")


def test_an_exception_without_words_is_named() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    @tool
    async def act() -> None:
        """Fail without a word."""
        raise Mute

    outcome = run_one([act], call("act"))
    assert outcome.error
    assert outcome.error.message == "Mute"
    assert outcome.error.where.startswith("act, test_running.py line ")


def test_a_failure_is_placed_in_the_file_of_the_tool_not_in_what_it_called() -> None:
    @tool
    def act(text: str) -> Any:
        """Read JSON."""
        return json.loads(text)

    outcome = run_one([act], call("act", text="{"))
    assert outcome.error
    assert act.function is not None
    line = act.function.__code__.co_firstlineno + 3
    assert outcome.error.where == f"act, test_running.py line {line}"


def test_a_failure_outside_the_file_of_the_tool_has_its_name_alone() -> None:
    load = Tool(spec=ToolSpec("load"), check=Checked, function=partial(json.loads, "{"))
    outcome = run_one([load], call("load"))
    assert outcome.error
    assert (outcome.error.code, outcome.error.where) == ("tool_error", "load")


def test_an_answer_in_an_envelope_is_unwrapped() -> None:
    answers = iter(
        [
            {"ok": True, "error": None, "ret": {"rows": 3}},
            {
                "ok": False,
                "error": {"code": "no_table", "message": "token=abcdef123456", "managed": True},
                "ret": None,
            },
            "bare",
        ]
    )
    known = Registry.from_json(
        [{"name": "far", "parameters": {"type": "object"}}], lambda name, input: next(answers)
    )
    # What comes from elsewhere taints its turn: each has a turn of its own.
    good, bad, bare = (run_one(known.tools, call("far", id)) for id in "abc")
    assert good.output == {"rows": 3}
    assert bad.error
    assert (bad.error.code, bad.error.message, bad.error.managed) == (
        "no_table",
        "token=••••••••",
        True,
    )
    assert code(bare) == "bad_envelope"


def test_a_tool_that_reaches_out_taints_the_turn_by_its_name() -> None:
    @tool(open_world=True)
    def fetch() -> str:
        """Fetch."""
        return "a page"

    turn = Turn()
    run_one([fetch], call("fetch"), turn=turn)
    assert turn.tainted == ("fetch",)


@pytest.mark.parametrize(
    ("traits", "tainted"),
    [
        ({"origin": "builtin"}, ()),
        ({"origin": "builtin", "kind": "source"}, ("fetch",)),
        ({"origin": "external"}, ("fetch",)),
    ],
)
def test_a_tool_of_our_own_says_itself_whether_it_brings_text_of_others(
    traits: dict[str, Any], tainted: tuple[str, ...]
) -> None:
    @tool(open_world=True, **traits)
    def fetch() -> dict[str, Any]:
        """Fetch."""
        return {"ok": True, "error": None, "ret": "a page"}

    turn = Turn()
    run_one([fetch], call("fetch"), turn=turn)
    assert turn.tainted == tainted


def test_artifacts_are_kept_with_the_outcome(tmp_path: Path) -> None:
    from callblocks.timeline.artifacts.artifacts import Artifacts

    @tool(kind="writer")
    def draw(context: Context) -> str:
        """Draw."""
        return context.keep("a.txt", b"drawn").digest

    outcome = run_one([draw], call("draw"), keep=Artifacts(tmp_path))
    assert [one.digest for one in outcome.artifacts] == [outcome.output]
    assert code(run_one([draw], call("draw"))) == "tool_error"


def test_text_is_kept_as_utf8(tmp_path: Path) -> None:
    from callblocks.timeline.artifacts.artifacts import Artifacts

    @tool
    def draw(context: Context) -> int:
        """Draw."""
        return context.keep("a.txt", "schön").size

    keep = Artifacts(tmp_path)
    outcome = run_one([draw], call("draw"), keep=keep)
    assert outcome.output == 6
    assert keep.read(outcome.artifacts[0].digest) == "schön".encode()


def test_what_a_tool_says_is_heard_without_its_secrets() -> None:
    @tool
    def talk(context: Context) -> None:
        """Talk."""
        context.report("password=hunter2hunter2")

    heard: list[Progress] = []
    run_one([talk], call("talk"), listen=heard.append)
    assert [one.text for one in heard if isinstance(one, CallTold)] == ["password=••••••••"]
    assert run_one([talk], call("talk")).ok
