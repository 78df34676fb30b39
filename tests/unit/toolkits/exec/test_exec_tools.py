"""Code with a contract, in every sandbox, in a turn and in a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callblocks import Registry, parse
from callblocks.core.events import CallTold
from callblocks.core.outcomes import Outcome
from callblocks.guard.files.root import Root
from callblocks.guard.sandbox.sandbox import Job, JobEnd, Missing, OnOutput, Sandbox
from callblocks.runtime.judgement import Progress
from callblocks.runtime.runtime import RunLimits
from callblocks.toolkits.exec.exec_tools import ExecLimits, exec_tools
from callblocks.toolkits.exec.workdir import WorkspacePlace
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context
from support.exec_runs import (
    ALLOW_CODE,
    PYTHON,
    SHELL,
    code_tools,
    contract,
    execute,
)
from support.recorded_sessions import Session, a_session
from support.sandboxes import sandbox_named
from support.tool_runtime import ALLOW_ALL, call, run_one


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with a_session(tmp_path) as session:
        yield session


def run(session: Session, code: str, *names: str, **parts: Any) -> Outcome:
    more = {key: parts.pop(key) for key in ("turn", "tool", "input") if key in parts}
    turn, tool = more.get("turn", "turn_1"), more.get("tool", PYTHON)
    given = call(tool, code=code, contract=contract(*names), **more.get("input", {}))
    tools = code_tools(session, turn, **parts)
    return session.run(tools, given, turn=turn, policy=ALLOW_CODE)


class Staged:
    """A sandbox in which a job ends as a test says."""

    name = "staged"
    holds = ()

    def __init__(self, ended: JobEnd) -> None:
        self.ended = ended
        self.jobs: list[Job] = []

    async def run(self, job: Job, on_output: OnOutput | None = None) -> JobEnd:
        self.jobs.append(job)
        return self.ended

    async def find(self) -> Sandbox:
        return self


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_code_finds_files_of_its_turn_and_of_earlier_ones(session: Session, name: str):
    sandbox = sandbox_named(name)

    async def find() -> Sandbox:
        return sandbox

    session.give("turn_1/files/a.txt", "one ")
    session.recorder.attach("turn_1", "given.txt", b"two ")
    session.put("turn_2/files/own.txt", "three")
    code = """
    cat turn_1/files/a.txt turn_1/attachments/given.txt turn_2/files/own.txt > files/all.txt
    cat ../turn_1/files/a.txt files/own.txt > turn_2/files/sub.txt
    """
    outcome = run(session, code, "all.txt", "sub.txt", turn="turn_2", tool=SHELL, find=find)
    assert outcome.ok, outcome.error
    assert outcome.output["produced"] == ["turn_2/files/all.txt", "turn_2/files/sub.txt"]
    assert (session.folder / "turn_2/files/all.txt").read_text() == "one two three"
    assert (session.folder / "turn_2/files/sub.txt").read_text() == "one three"


def test_a_file_that_was_there_counts_only_when_it_is_made_again(session: Session):
    session.put("turn_1/files/old.txt", "same")
    session.put("turn_1/files/again.txt", "same")
    blocks = execute(session, "open('files/again.txt', 'w').write('same')", "old.txt", "again.txt")
    assert blocks[2].text == (
        "Runtime error: none\n"
        "File errors:\n- turn_1/files/old.txt: file not produced\n"
        "Succeeded:\n- turn_1/files/again.txt"
    )


def test_an_empty_file_and_one_that_is_not_what_it_says_are_errors(session: Session):
    session.put("turn_1/files/empty.txt", "from before")
    session.put("turn_1/files/page.pdf", "from before")
    code = "open('files/empty.txt', 'w')\nfor name in ('page.pdf', 'other'):\n"
    code += "    open(f'files/{name}', 'w').write('text')"
    promised = [*contract("empty.txt", "page.pdf"), {"filename": "other", "mime": "image/png"}]
    report = execute(session, code, contract=promised)[2].text or ""
    assert report.split("\n")[:3] == [
        "Runtime error: none",
        "File errors:",
        "- turn_1/files/empty.txt: file is empty",
    ]
    assert "- turn_1/files/page.pdf: " in report
    assert "- turn_1/files/other: is no image/png: " in report
    assert "Succeeded" not in report
    for name in ("empty.txt", "page.pdf"):
        assert (session.folder / "turn_1/files" / name).read_text() == "from before"


def test_the_folders_of_a_contract_are_there(session: Session):
    session.put("turn_1/files/-p", "a file where a folder is promised")
    names = ("charts/may/a b.txt", "charts/$(x)/b", "c", "-p/d")
    code = f"for name in {names[:3]}:\n    open(f'files/{{name}}', 'w').write('x')"
    report = execute(session, code, *names)[2].text or ""
    assert report.split("\n") == [
        "Runtime error: none",
        "File errors:",
        "- turn_1/files/-p/d: file not produced",
        "Succeeded:",
        *(f"- turn_1/files/{name}" for name in names[:3]),
    ]


def test_a_file_in_the_wrong_place_is_told_of_and_stays_behind(session: Session):
    code = "for path in ('a.txt', 'files/b'):\n    open(path, 'w').write('x')"
    report = execute(session, code, "a.txt", "sub/b", "b", "c")[2].text or ""
    assert report.split("\n") == [
        "Runtime error: none",
        "File errors:",
        "- turn_1/files/a.txt: file not produced: the code wrote 'turn_1/a.txt'",
        "- turn_1/files/sub/b: file not produced",
        "- turn_1/files/c: file not produced",
        "Succeeded:",
        "- turn_1/files/b",
    ]
    assert not (session.folder / "turn_1/a.txt").exists()
    assert not (session.folder / "turn_1/files/sub").exists()


def test_a_name_alone_is_a_contract_and_none_is_not(session: Session):
    made = execute(session, "open('files/a', 'w').write('a')", contract=["a"])
    assert made[2].text == "Runtime error: none\nSucceeded:\n- turn_1/files/a"
    without = execute(session, "1", contract=[], id="c2")
    assert (without[2].text or "").startswith("Runtime error: invalid_input — ")


def test_whoever_forgets_the_contract_is_shown_one(session: Session):
    words = code_tools(session)[0].check({"code": "1"}).faults[0].problem
    assert words.startswith('required, missing; such as [{"description": "sales per month", ')


def test_an_error_names_the_program_and_its_line(session: Session):
    outcome = run(session, "x = 1\nx.y", "a", input={"prog_name": "../Monthly sales!"})
    assert outcome.error is not None
    assert outcome.error.message == "AttributeError: 'int' object has no attribute 'y'"
    assert outcome.output["program"] == "Monthly_sales.py"
    assert 'Monthly_sales.py", line 2' in outcome.output["stderr"]


def test_the_name_of_a_program_hides_no_package(session: Session):
    outcome = run(session, "import json\nprint(json.dumps(1))", "a", input={"prog_name": "json"})
    assert outcome.output["stdout"] == "1\n"


def test_a_package_that_is_not_there_is_told_with_those_that_are(session: Session):
    outcome = run(session, "import no_such_package_here", "a")
    assert outcome.error is not None
    assert "No module named 'no_such_package_here'; packages that are installed here: " in (
        outcome.error.message
    )


def test_what_runs_is_shown_step_by_step(session: Session):
    heard: list[Progress] = []
    code = "print('first')\nfor n in range(5000): print(n)\nopen('files/a', 'w').write('a')"
    execute(session, code, "a", "b", listen=heard.append)
    said = [one.text for one in heard if isinstance(one, CallTold)]
    assert "4999\n… 5,001 lines, " in "".join(said)
    assert said[-2:] == [
        "file 1 of 2: turn_1/files/a (1B)\n",
        "file 2 of 2: turn_1/files/b (file not produced)\n",
    ]
    assert len(said) < 50


def test_both_ends_of_much_output_are_kept(session: Session):
    code = "for n in range(100_000): print(n)"
    printed = run(session, code, "a", input={"output": 200}).output["stdout"]
    assert printed.startswith("0\n1\n2\n")
    assert printed.endswith("99998\n99999\n")
    assert " characters left out …" in printed
    assert len(printed) < 300


@pytest.mark.parametrize("attached", [False, True])
def test_files_of_others_taint_the_turn(session: Session, attached: bool):
    from callblocks.runtime.judgement import Turn

    if attached:
        session.recorder.attach("turn_0", "given.txt", b"do as I say")
    turn = Turn("turn_1")
    staged = Staged(JobEnd(exit_code=0))
    given = call(PYTHON, code="1", contract=["a"])
    run_one(code_tools(session, find=staged.find), given, policy=ALLOW_CODE, turn=turn)
    assert bool(turn.tainted) is attached


def test_a_call_asks_for_limits_and_gets_them_within_bounds(session: Session):
    staged = Staged(JobEnd(exit_code=0))
    bounds = ExecLimits(seconds=5, memory=64 << 20, processes=7, files=1 << 20)
    asked = {"timeout": 300, "memory_mb": 2048}
    run(session, "1", "a", find=staged.find, limits=bounds, input=asked)
    (job,) = staged.jobs
    assert job.argv[5] == "5"
    assert (job.limits.memory, job.limits.processes, job.limits.files) == (64 << 20, 7, 1 << 20)
    assert 5 < job.limits.seconds <= 15
    assert job.stdin == b"1"


@pytest.mark.parametrize(
    ("ended", "code", "words"),
    [
        (JobEnd(exit_code=0), "", ""),
        (JobEnd(exit_code=3), "execution_failed", "exit code 3"),
        (JobEnd(exit_code=139, signal="SIGSEGV"), "execution_failed", "killed by SIGSEGV"),
        (JobEnd(exit_code=137, out_of_memory=True), "out_of_memory", "512.0MB"),
        (JobEnd(exit_code=1, out_of_processes=True), "out_of_processes", "64 processes"),
        (JobEnd(out_of_disk=True), "out_of_disk", "256.0MB"),
        (JobEnd(timed_out=True), "timeout", "stopped after 60 s"),
        (JobEnd(exit_code=124, seconds=60.1), "timeout", "stopped after 60 s"),
        (JobEnd(exit_code=137, seconds=62.1), "timeout", "stopped after 60 s"),
        (JobEnd(exit_code=124, seconds=2), "execution_failed", "exit code 124"),
        (JobEnd(exit_code=0, copied=False), "sandbox_failed", "20,000 files: it is too large"),
    ],
)
def test_each_end_has_its_code(session: Session, ended: JobEnd, code: str, words: str):
    outcome = run(session, "1", "a", find=Staged(ended).find)
    assert (outcome.error.code if outcome.error else "") == code
    assert words in (outcome.error.message if outcome.error else "")


def test_without_a_sandbox_no_code_runs(session: Session):
    async def find() -> Missing:
        return Missing("none works")

    outcome = run(session, "1", "a", find=find)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.message) == ("sandbox_unavailable", "none works")


def test_code_that_is_no_text_does_not_run(session: Session):
    outcome = run(session, "'\ud800'", "a")
    assert outcome.error is not None
    assert outcome.error.code == "invalid_input"


def test_code_is_asked_about_even_where_everything_is_allowed(session: Session):
    given = call(PYTHON, code="1", contract=["a"])
    outcome = run_one(code_tools(session), given, policy=ALLOW_ALL)
    assert outcome.error is not None
    assert outcome.error.code == "approval_required"


def test_who_is_asked_sees_which_files_are_written(session: Session):
    tool = code_tools(session)[0]
    assert tool.preview is not None
    checked = tool.check({"code": "1", "contract": contract("a.txt", "b/c.txt")})
    assert tool.preview(**checked.values) == (
        "writes, and nothing else:\n  turn_1/files/a.txt\n  turn_1/files/b/c.txt"
    )


def test_without_a_turn_files_go_to_the_workspace(tmp_path: Path):
    (tmp_path / "numbers.txt").write_text("1\n2\n")
    (tmp_path / "office" / "mail").mkdir(parents=True)
    with Root(tmp_path) as root:
        tools = exec_tools(WorkspacePlace(root))
        code = "ls office; sort -r numbers.txt > files/sorted.txt; rm numbers.txt"
        given = call(SHELL, code=code, contract=contract("sorted.txt", "files/none.txt"))
        outcome = run_one(tools, given, policy=ALLOW_CODE)
    assert outcome.output["produced"] == ["files/sorted.txt"]
    assert outcome.output["problems"] == {"files/none.txt": "file not produced"}
    assert "stdout" not in outcome.output
    assert (tmp_path / "files/sorted.txt").read_text() == "2\n1\n"
    assert (tmp_path / "numbers.txt").exists()


def test_without_a_report_the_failure_names_what_was_made(tmp_path: Path):
    with Root(tmp_path) as root:
        given = call(SHELL, code="echo a > files/a; exit 3", contract=contract("a", "b"))
        outcome = run_one(exec_tools(WorkspacePlace(root)), given, policy=ALLOW_CODE)
    assert outcome.error is not None
    assert outcome.error.message == "exit code 3; made all the same: files/a"


@pytest.mark.parametrize("damaged", [False, True])
def test_what_another_tool_kept_can_be_read_by_its_path(session: Session, damaged: bool):
    @tool
    def fetch(context: Context) -> str:
        """Fetch."""
        return context.keep("prices.json", '{"tea": 3}').path

    session.play([fetch], call("fetch", "c0"))
    if damaged:
        for path in (session.folder.parent / "artifacts").rglob("prices.json"):
            path.chmod(0o600)
            path.write_text("{}")
    code = "# fi:turn_1.files/c0/prices.json\nprint(open('turn_1/files/c0/prices.json').read())"
    outcome = run(session, code, "a", turn="turn_2")
    assert outcome.output["stdout"] == '{"tea": 3}\n'


def test_what_was_made_is_known_also_where_the_output_is_kept_elsewhere(session: Session):
    session.put("turn_1/files/old.txt", "from before")
    code = "print('x' * 5000)\nopen('files/new.txt', 'w').write('new')"
    given = call(PYTHON, code=code, contract=contract("old.txt", "new.txt"))
    few = RunLimits(output=1_000)
    blocks = session.play(code_tools(session), given, policy=ALLOW_CODE, limits=few)
    assert blocks[2].text == (
        "Runtime error: none\n"
        "File errors:\n- turn_1/files/old.txt: file not produced\n"
        "Succeeded:\n- turn_1/files/new.txt"
    )


def test_code_can_be_run_from_emoji_brackets(session: Session) -> None:
    text = f"🛠️[{PYTHON} sales.csv]\nopen('files/sales.csv', 'w').write('a,b')\n🛠️[/end]"
    tools = code_tools(session)
    parsed = parse(text, "emoji-bracket", tools=Registry(tools))
    assert parsed.problems == []
    outcome = session.run(tools, parsed.calls[0], turn="turn_1", policy=ALLOW_CODE)
    assert outcome.output["produced"] == ["turn_1/files/sales.csv"]
