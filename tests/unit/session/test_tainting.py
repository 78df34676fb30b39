from __future__ import annotations

import pathlib
from typing import Annotated, Any

import pytest
from msgspec.structs import replace
from pydantic import Field

from callblocks.core.outcomes import Failure, Outcome
from callblocks.models.model import Usage
from callblocks.policy.facts import ContainedTaint
from callblocks.session.event_gate import ANSWERED
from callblocks.session.taint import Taints, taint_of
from callblocks.timeline.codec.call_stamp import NOT_RUN
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import Timeline
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from support.memory_artifacts import MemoryArtifacts
from support.memory_files import MemoryFiles
from support.tool_runtime import call

Path = Annotated[str, Field(json_schema_extra={"format": "path"})]


@tool(read_only=True, open_world=True)
def search(query: str) -> str:
    """Search."""
    return query


@tool(read_only=True, kind="source")
def mail() -> str:
    """Read the mail."""
    return ""


@tool(kind="exec")
def shell(command: str) -> str:
    """Run a command."""
    return command


@tool(read_only=True)
def read(path: Path, more: tuple[Path, ...] = ()) -> str:
    """Read a file."""
    return path


@tool(read_only=True, paths=lambda given: [given["scope"]])
def find(scope: str = ".") -> str:
    """Find something."""
    return scope


KNOWN = Registry([search, mail, shell, read, find])


@pytest.mark.parametrize("name", ["search", "mail", "shell"])
def test_what_comes_from_outside_taints(name: str) -> None:
    assert taint_of(call(name), KNOWN) == f"the result of {name}"


def test_what_a_command_in_our_sandbox_gave_is_contained() -> None:
    ours = replace(shell, origin="builtin")
    assert isinstance(taint_of(call("shell", command="ls"), Registry([ours])), ContainedTaint)
    assert not isinstance(taint_of(call("shell", command="ls"), KNOWN), ContainedTaint)
    far = replace(ours, reaches_any_host=lambda given: True)
    assert not isinstance(taint_of(call("shell", command="ls"), Registry([far])), ContainedTaint)


def test_a_later_turn_knows_which_reasons_are_contained(tmp_path: pathlib.Path) -> None:
    taints = Taints()
    with Timeline.open(tmp_path / "timeline.sqlite", "talk") as timeline:
        recorder = Recorder(timeline, MemoryFiles(), MemoryArtifacts())
        over = ANSWERED.record(Usage(), (ContainedTaint("a command"), "a page"))
        recorder.end_turn(recorder.new_turn(), **over)
        taints.feed(timeline.entries(), KNOWN)
    assert [(str(why), isinstance(why, ContainedTaint)) for why in taints.reasons] == [
        ("a command", True),
        ("a page", False),
    ]


def test_an_act_of_a_tool_that_comes_with_callblocks_does_not() -> None:
    @tool(open_world=True, origin="builtin")
    def send() -> str:
        """Send."""
        return ""

    assert taint_of(call("send"), Registry([send])) is None


def test_what_looks_through_the_workspace_may_have_met_files_of_others() -> None:
    assert taint_of(call("find"), KNOWN) == "the result of find, which meets files of others"
    assert taint_of(call("find", scope="office"), KNOWN) == "file of others: office"
    assert taint_of(call("find", scope="notes"), KNOWN) is None


def test_what_nobody_knows_taints() -> None:
    assert taint_of(call("sing"), KNOWN) == "the result of sing, which nobody here knows"


@pytest.mark.parametrize(
    ("given", "foreign"),
    [
        ({"path": "downloads/a"}, "downloads/a"),
        ({"path": "./Downloads//a"}, "./Downloads//a"),
        ({"path": "attachments"}, "attachments"),
        ({"path": "a", "more": ["b", "attachments/c"]}, "attachments/c"),
    ],
)
def test_files_of_others_taint(given: dict[str, Any], foreign: str) -> None:
    assert taint_of(call("read", **given), KNOWN) == f"file of others: {foreign}"


@pytest.mark.parametrize("given", [{"path": "notes/a"}, {"path": 7}, {"path": None}, {}])
def test_files_of_ones_own_do_not(given: dict[str, Any]) -> None:
    assert taint_of(call("read", **given), KNOWN) is None


CODE = "exec_tools.execute_code_python"
NO_TEXT = sorted(NOT_RUN | {"cancelled", "indeterminate", "limit_reached"})


def recorded(folder: pathlib.Path, name: str, codes: list[str], **meta: Any) -> tuple[str, ...]:
    """What taints a talk whose calls failed with these codes; "" for one that did not."""
    taints = Taints()
    with Timeline.open(folder / "timeline.sqlite", "talk") as timeline:
        recorder = Recorder(timeline, MemoryFiles(), MemoryArtifacts())
        turn = recorder.new_turn()
        for at, code in enumerate(codes):
            own = call(name, f"c{at}", command="x")
            recorder.started(turn, own, **meta)
            failure = Failure(code=code, message="so it is") if code else None
            output = None if code else "text"
            recorder.ended(turn, own, Outcome(id=own.id, name=name, output=output, error=failure))
        recorder.started(turn, call(name, "last", command="x"), **meta)
        for entry in timeline.entries():
            taints.feed([entry], KNOWN)
    return taints.reasons


@pytest.mark.parametrize("name", ["shell", CODE])
def test_calls_that_did_not_run_or_still_wait_taint_nothing(
    tmp_path: pathlib.Path, name: str
) -> None:
    assert recorded(tmp_path, name, NO_TEXT) == ()


@pytest.mark.parametrize("name", ["shell", CODE])
@pytest.mark.parametrize("code", ["", "tool_error", "timeout", "of_its_own"])
def test_calls_that_ran_taint_however_they_ended(
    tmp_path: pathlib.Path, name: str, code: str
) -> None:
    (why,) = recorded(tmp_path, name, [code])
    assert why.startswith(f"the result of {name}")


def test_results_that_stood_in_the_reply_taint_nothing(tmp_path: pathlib.Path) -> None:
    assert recorded(tmp_path, "shell", ["", "tool_error"], written=True) == ()
