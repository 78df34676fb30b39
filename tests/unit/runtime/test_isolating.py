from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from callblocks.core.outcomes import Outcome
from callblocks.guard.workers import isolated_program as child
from callblocks.guard.workers import worker_process as isolating
from callblocks.runtime.judgement import Turn
from callblocks.runtime.runtime import Runtime
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool
from support import isolated_tools as isolated
from support.roots import open_files
from support.tool_runtime import ALLOW_ALL, call, run_one


def code(outcome: Outcome) -> str:
    return outcome.error.code if outcome.error else ""


def gone(pid_file: Path) -> bool:
    """Whether a process is dead, or dies now; one that waits for its parent to notice is."""
    for _ in range(500):
        try:
            stat = Path(f"/proc/{pid_file.read_text()}/stat").read_text()
        except FileNotFoundError:
            return True
        if stat.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


def test_the_function_runs_in_a_process_and_group_of_its_own() -> None:
    before = open_files()
    said = run_one([isolated.place], call("place")).output
    assert said["pid"] != os.getpid()
    assert said["group"] == said["pid"]
    assert open_files() == before


def test_an_async_function_is_waited_for() -> None:
    assert run_one([isolated.double_later], call("double_later", number=5)).output == 10


def test_the_values_have_their_types_in_the_child_too() -> None:
    outcome = run_one([isolated.kind_of], call("kind_of", path="a/b", names=["y", "x"]))
    assert outcome.output == ["PosixPath", "set", "a/b", "x", "y"]


def test_a_function_that_is_not_declared_in_its_file_gets_the_values_as_json() -> None:
    outcome = run_one([tool(isolated.undeclared, isolated=True)], call("undeclared", number=1))
    assert outcome.output == 2


@pytest.mark.parametrize("hanging", [isolated.hang_in_c, isolated.count_for_ever])
@pytest.mark.no_cover  # other tests walk the same ways
def test_what_hangs_in_foreign_code_is_killed_at_its_time(hanging: Tool, tmp_path: Path) -> None:
    outcome = run_one([hanging], call(hanging.name, pid_file=str(tmp_path / "pid")))
    assert code(outcome) == "timeout"
    assert gone(tmp_path / "pid")


def test_a_stopped_turn_kills_the_process(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    async def act() -> str:
        turn = Turn()

        async def stop() -> None:
            while not pid_file.exists() or not pid_file.read_text():
                await asyncio.sleep(0.01)
            turn.stop()

        stopping = asyncio.ensure_future(stop())
        runtime = Runtime(Registry([isolated.hang_in_c]), ALLOW_ALL)
        outcomes = runtime.run([call("hang_in_c", pid_file=str(pid_file))], turn)
        (found,) = [code(outcome) async for outcome in outcomes]
        await stopping
        return found

    assert asyncio.run(act()) in {"cancelled", "timeout"}
    assert gone(pid_file)


@pytest.mark.parametrize("leaving", [isolated.hang_with_child, isolated.leave_child])
def test_what_the_function_started_dies_with_it(leaving: Tool, tmp_path: Path) -> None:
    outcome = run_one([leaving], call(leaving.name, pid_file=str(tmp_path / "pid")))
    assert code(outcome) == ("timeout" if leaving is isolated.hang_with_child else "")
    assert gone(tmp_path / "pid")


@pytest.mark.parametrize(
    ("how", "words"), [("exit", "exit code 7"), ("segfault", "signal 11"), ("kill", "signal 9")]
)
def test_a_process_that_dies_is_an_outcome(how: str, words: str) -> None:
    dead = run_one([isolated.die], call("die", how=how))
    assert code(dead) == "tool_died"
    assert dead.error
    assert dead.error.message == f"die ended without an answer ({words})"


def test_what_the_function_prints_goes_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_one([isolated.flood], call("flood")).output == "dry"
    assert capfd.readouterr() == ("", "")


def test_what_the_function_raises_comes_over() -> None:
    outcome = run_one([isolated.fail], call("fail", how="tool"))
    assert outcome.error
    assert (outcome.error.code, outcome.error.message) == ("no_tea", "there is no tea")
    assert outcome.error.details == {"left": 0}


def test_a_value_that_cannot_be_written_is_said() -> None:
    assert code(run_one([isolated.answer], call("answer", how="cyclic"))) == "bad_output"


def test_a_long_answer_arrives_whole() -> None:
    assert len(run_one([isolated.answer], call("answer", how="huge")).output) == 300_000


def test_an_answer_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolating, "_ANSWER_LIMIT", 1 << 16)
    outcome = run_one([isolated.answer], call("answer", how="huge"))
    assert outcome.error
    assert outcome.error.code == "bad_output"
    assert "longer than" in outcome.error.message


def test_a_long_input_arrives_whole() -> None:
    assert run_one([isolated.swallow], call("swallow", text="x" * 300_000)).output == 300_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}\n", ""),
        ('{"code": 5}\n', "bad_output"),
        ("[]\n", "bad_output"),
        ("hello\n", "bad_output"),
        ("\n", "bad_output"),
        ('{"details": {"a": "\\ud800"}}\n', "bad_output"),
    ],
)
@pytest.mark.no_cover  # other tests walk the same ways
def test_a_function_that_writes_the_answer_itself_gets_no_further_than_itself(
    text: str, expected: str
) -> None:
    outcome = run_one([isolated.speak_out_of_turn], call("speak_out_of_turn", text=text))
    assert outcome.output is None
    assert code(outcome) == expected


def test_details_may_have_any_names() -> None:
    details = {"code": 1, "message": "inner", "self": None}
    text = json.dumps({"code": "no_tea", "message": "none", "details": details}) + "\n"
    outcome = run_one([isolated.speak_out_of_turn], call("speak_out_of_turn", text=text))
    assert outcome.error
    assert (outcome.error.code, outcome.error.message) == ("no_tea", "none")
    assert outcome.error.details == details


def test_a_function_inside_another_cannot_be_isolated() -> None:
    @tool(isolated=True)
    def inner() -> None:
        """Run."""

    outcome = run_one([inner], call("inner"))
    assert outcome.error
    assert outcome.error.code == "not_runnable"
    assert "inner cannot be isolated" in outcome.error.message


def test_a_function_that_takes_a_context_cannot_be_isolated() -> None:
    assert code(run_one([isolated.ask_back], call("ask_back"))) == "not_runnable"


def test_nothing_is_imported_from_where_a_model_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "own_tools.py"
    tools.write_text(
        "import json\nfrom callblocks.tools.declare import tool\n\n"
        "@tool(isolated=True)\ndef tell() -> str:\n"
        '    """Tell."""\n    return json.dumps("told")\n'
    )
    registry = Registry.from_module(tools)
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n"
    for name in ("json.py", "msgspec.py", "callblocks.py", "asyncio.py"):
        (tmp_path / name).write_text(trap)
    monkeypatch.chdir(tmp_path)
    assert run_one(registry.tools, call("tell")).output == '"told"'
    assert not (tmp_path / "sprung").exists()


def test_a_child_that_cannot_be_started_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    before = open_files()
    monkeypatch.setattr(sys, "executable", "/nothing/here")
    outcome = run_one([isolated.double], call("double", number=1))
    assert code(outcome) == "tool_error"
    assert open_files() == before


def test_a_child_that_does_not_listen_is_killed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its input is larger than a pipe holds, and it never reads."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    outcome = run_one([isolated.swallow], call("swallow", text="x" * 300_000))
    assert code(outcome) == "tool_died"


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("double", {"number": 2}, (4, "")),
        ("double", {"number": "many"}, (None, "invalid_input")),
        ("double_later", {"number": 2}, (4, "")),
        ("undeclared", {"number": 2}, (3, "")),
        ("answer", {"how": "object"}, ("a/b", "")),
        ("answer", {"how": "digits"}, (None, "bad_output")),
        ("fail", {"how": "tool"}, (None, "no_tea")),
        ("fail", {"how": "exit"}, (None, "tool_error")),
        ("nothing_here", {}, (None, "tool_error")),
    ],
)
def test_what_the_child_answers(
    name: str, given: dict[str, Any], expected: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same in this process, where every line is seen."""
    monkeypatch.setitem(sys.modules, "callblocks_isolated", ModuleType("callblocks_isolated"))
    reader, writer = os.pipe()
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps(given).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    child.main(isolated.__file__, name, str(writer))
    with os.fdopen(reader, "rb") as pipe:
        answer = json.loads(pipe.read())
    assert (answer.get("value"), answer.get("code", "")) == expected
