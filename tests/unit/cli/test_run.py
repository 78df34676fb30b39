from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from callblocks.core.calls import Call
from callblocks.core.calls import Result as Said
from callblocks.core.errors import Unwritable
from callblocks.dialects import dialects
from callblocks.parser import parse
from callblocks.tools.registry import Registry
from support.command import run
from support.command_home import TOOLS, fence, move_in


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = move_in(tmp_path, monkeypatch)
    (folder / "tools.py").write_text(TOOLS)
    return folder


def notes() -> str:
    path = Path("notes.txt")
    return path.read_text() if path.exists() else ""


def run_text(text: str, *args: str) -> Result:
    return run("run", "-T", "tools.py", *args, text=text)


def json_lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


ADD = Call(id="c1", name="add", input={"a": 1, "b": 2})
TEXT = "First:\n" + fence("note", "n", text="a") + "Then:\n" + fence("add", "s", a=1, b="2")


def test_without_flags_nothing_runs_and_it_says_how(tmp_path: Path) -> None:
    Path("chat.md").write_text(TEXT)
    result = run("run", "chat.md", "-T", "tools.py")
    assert result.exit_code == 0
    assert "Nothing ran: no policy was given. These 2 calls wait:" in result.stdout
    assert "   1  note(text=a)   off     destructive" in result.stdout
    assert result.stdout.endswith(
        "\nAdd to the command:\n"
        "  --ask                    to be asked before each\n"
        "  --allow note             to run this tool unasked\n"
        "  --allow-trait read_only  to run what changes nothing\n"
        "  --policy FILE            to decide by rules; callblocks policy example prints some\n"
    )
    assert notes() == ""


def test_one_call_waits_in_the_singular() -> None:
    assert "This call waits:" in run_text(fence("note", text="a")).stdout


def test_a_text_without_calls_says_so() -> None:
    result = run_text("Only words.\n")
    assert result.stdout == "Only words.\n\nNo call waits for a result.\n"
    assert result.exit_code == 0


def test_an_allowed_tool_runs_and_its_result_is_shown() -> None:
    result = run_text(TEXT, "--allow", "note", "--allow-trait", "read_only")
    assert result.exit_code == 0
    assert "note(text=a) → written" in result.stdout
    assert "add(a=1, b=2) → 3" in result.stdout
    assert result.stdout.endswith("\n2 done\nⓘ note: noted a\n")
    assert notes() == "a\n"


def test_a_call_that_nobody_read_is_a_failure() -> None:
    text = '<tol>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
    result = run_text(text, "--allow-trait", "read_only", "--json")
    assert result.exit_code == 1
    assert json_lines(result)[0]["error"]["code"] == "unread-call"


def test_what_is_not_allowed_is_refused_where_nobody_is_there() -> None:
    result = run_text(TEXT, "--allow-trait", "read_only")
    assert result.exit_code == 1
    assert "not approved: a person must approve it" in result.stdout
    assert "1 done, 1 refused" in result.stdout
    assert "callblocks approvals approve " in result.stdout
    assert notes() == ""


def test_what_waits_runs_once_it_is_approved() -> None:
    waits = json_lines(run_text(TEXT, "--ask", "--json"))[0]
    id = waits["error"]["details"]["approval"]
    assert run("approvals", "approve", id).exit_code == 0
    again = json_lines(run_text(TEXT, "--ask", "--json"))[0]
    assert again["ok"]
    third = json_lines(run_text(TEXT, "--ask", "--json"))[0]
    assert third["error"]["code"] == "approval_required"
    assert notes() == "a\n"


def test_a_policy_file_decides_and_explain_says_why() -> None:
    Path("policy.toml").write_text(
        '[[rule]]\ndecide = "deny"\ntool = "note"\nbecause = "paper is dear"\n'
        '[[rule]]\ndecide = "allow"\ntool = "add"\n'
    )
    result = run_text(TEXT, "--policy", "policy.toml", "--explain")
    assert result.exit_code == 1
    assert "refused by rule 1: paper is dear" in result.stdout
    assert "rule 1 of the policy denies: paper is dear" in result.stdout
    assert "rule 2 of the policy allows" in result.stdout
    assert "1 done, 1 refused" in result.stdout


def test_explain_without_a_policy_explains_the_plan() -> None:
    result = run_text(fence("note", text="a"), "--explain")
    assert result.exit_code == 0
    assert result.stdout.count("note(text=a)  off") == 2


def test_a_dry_run_decides_and_runs_nothing() -> None:
    result = run_text(TEXT, "--allow", "note", "--dry-run")
    assert result.exit_code == 0
    assert result.stdout.endswith(
        "\n   1  note(text=a)   allow   rule 1 of the policy allows: --allow"
        "\n   2  add(a=1, b=2)  ask     no rule names this call\n"
    )
    assert notes() == ""
    assert "No call has changed anything." in run("journal").stdout
    assert "Nothing waits" in run("approvals").stdout


def test_a_dry_run_can_be_explained() -> None:
    result = run_text(fence("note", text="a"), "--allow", "note", "--dry-run", "--explain")
    assert result.stdout.count("note(text=a)  allow") == 1
    assert "rule 1 (allow: --allow) matches: tool note" in result.stdout
    assert notes() == ""


def test_a_dry_run_without_a_policy_says_how_to_allow() -> None:
    assert "Add to the command:" in run_text(TEXT, "--dry-run").stdout


@pytest.mark.parametrize("program", [["--json"], ["--reply"], ["--reply-in", "tool-fence"]])
@pytest.mark.parametrize("person", ["--explain", "--dry-run"])
def test_what_is_for_people_is_not_for_programs(person: str, program: list[str]) -> None:
    result = run_text(TEXT, "--allow", "note", person, *program)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "are for people" in result.stderr
    assert notes() == ""


@pytest.mark.parametrize("options", [[], ["--allow", "*"], ["--allow", "*", "--reply"]])
def test_a_broken_block_is_a_problem(options: list[str]) -> None:
    result = run_text("```tool add\ninput: [\n```\n", *options)
    assert result.exit_code == 1


def test_a_broken_block_is_a_line_of_its_own() -> None:
    text = "```tool add x\ninput: [\n```\n" + fence("add", "s", a=1, b=2)
    result = run_text(text, "--allow", "*", "--json")
    assert result.exit_code == 1
    done, broken = json_lines(result)
    assert (done["id"], done["ok"]) == ("s", True)
    assert (broken["id"], broken["name"], broken["ok"]) == (None, None, False)
    assert broken["error"]["code"] == "tool-fence.yaml"
    assert broken["error"]["message"]


@pytest.mark.parametrize(
    ("pattern", "hint"), [("nota", "; did you mean note?"), ("zzzzzz", ""), ("n?", "")]
)
def test_a_name_of_no_tool_is_said(pattern: str, hint: str) -> None:
    result = run_text("Only words.\n", "--allow", pattern, "--allow", "file_*")
    assert result.exit_code == 0
    assert result.stderr == f"callblocks: --allow {pattern}: no tool has such a name{hint}\n"


@pytest.mark.parametrize("way", ["--json", "--reply"])
def test_what_a_tool_prints_is_no_part_of_the_answer(way: str) -> None:
    Path("loud.py").write_text(
        'from callblocks.tools.declare import tool\nprint("loading")\n\n\n'
        '@tool(read_only=True)\ndef sing() -> str:\n    """Sing."""\n'
        '    print("la la")\n    return "sung"\n'
    )
    result = run("run", "-T", "loud.py", "--allow", "sing", way, text=fence("sing"))
    assert "sung" in result.stdout
    assert "loading" not in result.stdout
    assert "la la" not in result.stdout
    assert result.stderr == "loading\nla la\n"


@pytest.mark.parametrize(
    "rules", ["autoexec = false\n", 'autoexec = false\n[[rule]]\ndecide="allow"\ntool="*"\n']
)
def test_a_policy_that_is_off_stays_off(rules: str) -> None:
    Path("policy.toml").write_text(rules)
    result = run_text(TEXT, "--policy", "policy.toml", "--allow", "note", "--json")
    assert {line["error"]["code"] for line in json_lines(result)} == {"policy_off"}
    assert notes() == ""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[[rule", "not TOML"),
        ('[[rule]]\ndecide = "perhaps"\n', "perhaps"),
        ('[[rule]]\ndecide = "allow"\ntol = "x"\n', "tol"),
    ],
)
def test_a_bad_policy_is_one_line(content: str, words: str) -> None:
    Path("policy.toml").write_text(content)
    result = run_text(TEXT, "--policy", "policy.toml")
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("callblocks: policy.toml: ")
    assert line.count("policy.toml") == 1
    assert words in line


def test_a_bad_pattern_is_one_line() -> None:
    result = run_text(TEXT, "--allow-trait", "kind")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("callblocks: --allow: ")


def test_json_is_one_outcome_a_line_and_nothing_else() -> None:
    text = TEXT + fence("fail", "f") + fence("fial", "u") + fence("add", "b", a="x")
    result = run_text(text, "--allow", "*", "--json")
    assert result.exit_code == 1
    found = {line["id"]: line for line in json_lines(result)}
    assert set(found) == {"n", "s", "f", "u", "b"}
    assert found["s"]["output"] == 3
    assert found["n"]["notices"][0]["message"] == "noted a"
    assert found["f"]["error"] == {
        "code": "no_tea",
        "message": "there is no tea",
        "where": "fail",
        "details": {"left": 0},
    }
    assert found["u"]["error"]["code"] == "unknown_tool"
    assert "did you mean fail?" in found["u"]["error"]["message"]
    assert found["b"]["error"]["code"] == "invalid_input"
    assert [found[id]["ok"] for id in "nsfub"] == [True, True, False, False, False]
    assert "managed" not in result.stdout


def test_json_without_a_policy_refuses_each_call() -> None:
    result = run_text(TEXT, "--json")
    assert result.exit_code == 1
    assert [line["error"]["code"] for line in json_lines(result)] == ["policy_off"] * 2


def test_an_id_that_is_half_a_character_can_be_written() -> None:
    call = '{"type": "custom", "id": "\\ud800", "operation": "add", "parameters": {"a": 1}}'
    text = f"[{call}]\n✂️🐱\n"
    result = run_text(text, "--allow", "*", "--json", "-d", "scissors-cat")
    assert result.exit_code in (0, 1)
    assert [line["id"] for line in json_lines(result)] == ["\ud800"]


@pytest.mark.parametrize("name", dialects)
def test_a_reply_has_the_results_in_the_dialect_of_the_calls(name: str) -> None:
    written = dialects[name].write(["Sum:\n\n", ADD], tuple(Registry.from_module("tools.py")))
    result = run_text(written, "--allow", "add", "--reply", "--dialect", name)
    # What chat-blocks shows is for people: no input can be read from it.
    failed = name == "chat-blocks"
    assert result.exit_code == int(failed)
    spoken = name if _can_say_results(name) else "tool-fence"
    assert bool(result.stderr) == (spoken != name)
    found = parse(result.stdout, spoken)
    assert [one.name for one in found.calls] == ["add"]
    assert [one.id for one in found.results] == [found.calls[0].id]
    assert ("invalid_input" if failed else "3") in str(found.results[0])


def _can_say_results(name: str) -> bool:
    try:
        known = tuple(Registry.from_module("tools.py"))
        dialects[name].write([ADD, Said(id="c1", output=3)], known)
    except Unwritable:
        return False
    return True


def test_scissors_cat_cannot_say_results_and_says_so() -> None:
    assert not _can_say_results("scissors-cat")
    text = dialects["scissors-cat"].write([ADD], tuple(Registry.from_module("tools.py")))
    result = run_text(text, "--allow", "add", "--reply")
    (line,) = result.stderr.splitlines()
    assert line.startswith("callblocks: scissors-cat cannot write ")
    assert line.endswith("; replied in tool-fence")


def test_a_reply_in_a_dialect_that_cannot_say_it_is_refused_before_anything_runs() -> None:
    result = run_text(TEXT, "--allow", "*", "--reply-in", "scissors-cat")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "--reply-in: scissors-cat cannot write results" in result.stderr
    assert notes() == ""


def test_a_reply_in_another_dialect() -> None:
    result = run_text(fence("add", a=1, b=2), "--allow", "*", "--reply-in", "emoji-bracket")
    assert parse(result.stdout, "emoji-bracket").results[0].output in (3, "3")
    assert result.stderr == ""


def test_a_reply_always_says_what_was_done() -> None:
    """Prose that would be read as a call is left out, and that is said."""
    broken = "```tool note\ninput: [\n```\n"
    result = run_text(fence("note", "n", text="a") + broken, "--allow", "*", "--reply")
    assert result.exit_code == 1
    assert [one.output for one in parse(result.stdout, "tool-fence").results] == ["written"]
    (line,) = result.stderr.splitlines()
    assert line.startswith("callblocks: tool-fence cannot write the prose ")
    assert line.endswith("; replied in tool-fence, without the prose")
    assert notes() == "a\n"


def test_a_reply_without_a_policy_says_that_nothing_ran() -> None:
    result = run_text(fence("add", a=1, b=2), "--reply")
    assert result.exit_code == 1
    (said,) = parse(result.stdout, "tool-fence").results
    assert said.error
    assert said.error.startswith("policy_off: ")


def test_json_and_reply_exclude_each_other() -> None:
    for reply in (["--reply"], ["--reply-in", "tool-fence"]):
        result = run_text(TEXT, "--json", *reply)
        assert result.exit_code == 2
        assert "exclude each other" in result.stderr


def test_calls_that_have_a_result_are_left_alone() -> None:
    replied = run_text(fence("note", text="a"), "--allow", "note", "--reply").stdout
    again = run_text(replied, "--allow", "note")
    assert again.exit_code == 0
    assert "No call waits for a result." in again.stdout
    both = run_text(replied + fence("note", "c2", text="b"), "--allow", "note", "--reply")
    assert notes() == "a\nb\n"
    assert [one.id for one in parse(both.stdout, "tool-fence").results] == ["c1", "c2"]


def test_a_reply_can_be_run_again_once_what_waits_is_approved() -> None:
    first = run_text(fence("note", text="a"), "--ask", "--reply")
    (said,) = parse(first.stdout, "tool-fence").results
    assert said.error
    assert said.error.startswith("approval_required: ")
    (id,) = [line.split()[0] for line in run("approvals").stdout.splitlines() if "pending" in line]
    assert run("approvals", "approve", id).exit_code == 0
    second = run_text(first.stdout, "--ask", "--reply")
    assert second.exit_code == 0
    (said,) = parse(second.stdout, "tool-fence").results
    assert (said.output, said.error) == ("written", None)
    assert notes() == "a\n"
    assert "No call waits" in run_text(second.stdout, "--ask").stdout


def test_other_refusals_are_results() -> None:
    refused = run_text(fence("note", text="a"), "--reply").stdout
    assert "No call waits" in run_text(refused, "--allow", "note").stdout
    assert notes() == ""


def answered(name: str, output: str = "x", **input: object) -> str:
    call = Call(id="old", name=name, input=dict(input))
    return dialects["tool-fence"].write([call, Said(id="old", output=output)])


@pytest.mark.parametrize(
    "before",
    [
        answered("api_call", url="https://example.org"),
        answered("terminal_execute", command="ls"),
        answered("file_read", path="downloads/mail.txt"),
        answered("sing"),
    ],
)
def test_results_of_others_in_the_text_taint_the_turn(before: str) -> None:
    text = before + "\n" + fence("note", text="a")
    (line,) = json_lines(run_text(text, "--allow", "note", "--json"))
    assert line["error"]["code"] == "approval_required"
    assert notes() == ""


def test_results_of_ones_own_in_the_text_do_not_taint_it() -> None:
    text = answered("file_read", path="notes/a.md") + "\n" + fence("note", text="a")
    (line,) = json_lines(run_text(text, "--allow", "note", "--json"))
    assert line["ok"]


def test_described_tools_can_be_read_but_not_run() -> None:
    Path("tools.json").write_text(json.dumps([{"name": "far", "parameters": {"type": "object"}}]))
    result = run("run", "-T", "tools.json", "--allow", "*", "--json", text=fence("far"))
    assert result.exit_code == 1
    assert json_lines(result)[0]["error"]["code"] == "not_runnable"
    plan = run("run", "-T", "tools.json", text=fence("far"))
    assert "cannot  not_runnable" in plan.stdout
    assert "--ask" not in plan.stdout


def test_a_tools_file_that_is_broken_is_one_line() -> None:
    Path("broken.py").write_text("1 / 0\n")
    result = run("run", "-T", "broken.py", text=TEXT)
    assert result.exit_code == 2
    assert "ZeroDivisionError" in result.stderr


def test_the_files_that_steer_are_not_written_by_a_call() -> None:
    Path("policy.toml").write_text('[[rule]]\ndecide = "allow"\ntool = "*"\n')
    text = "".join(
        fence("file_write", path, path=path, content="evil")
        for path in ("policy.toml", "tools.py", ".bashrc")
    )
    result = run_text(text, "--policy", "policy.toml", "--json")
    assert [line["error"]["code"] for line in json_lines(result)] == ["protected_path"] * 3
    assert "evil" not in Path("tools.py").read_text() + Path("policy.toml").read_text()


def test_the_state_inside_of_a_workspace_is_not_written_by_a_call(
    monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.setenv("CALLBLOCKS_HOME", str(workspace / "state"))
    text = fence("file_write", path="state/approvals.sqlite", content="evil")
    result = run_text(text, "--allow", "file_*", "--json")
    assert json_lines(result)[0]["error"]["code"] == "protected_path"


def test_a_long_output_is_kept_and_the_place_is_said(tmp_path: Path) -> None:
    result = run_text(fence("shout"), "--allow", "shout")
    assert result.exit_code == 0
    told = "".join(result.stdout.partition("ⓘ")[2].split())
    assert f"kept{tmp_path / 'state' / 'artifacts'}" in told
    (kept,) = (tmp_path / "state" / "artifacts").rglob("c1.txt")
    assert kept.read_text() == "x" * 60_000


def test_a_tainted_text_asks_for_what_was_allowed() -> None:
    (line,) = json_lines(
        run_text(fence("note", text="a"), "--allow", "note", "--tainted", "--json")
    )
    assert line["error"]["code"] == "approval_required"


def test_collapse_counts_the_calls() -> None:
    result = run_text(TEXT, "--allow", "*", "--collapse")
    assert "→" not in result.stdout
    assert "note" in result.stdout


def test_a_journal_that_is_broken_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state" / "journal.sqlite").write_bytes(b"no journal " * 500)
    result = run_text(TEXT, "--allow", "*")
    assert result.exit_code == 2
    assert "journal.sqlite" in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert notes() == ""


def test_approvals_that_are_broken_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    broken = tmp_path / "state" / "approvals.sqlite"
    broken.write_bytes(b"no approvals " * 500)
    broken.chmod(0o600)
    result = run_text(TEXT, "--allow", "*")
    assert result.exit_code == 2
    assert "approvals.sqlite" in result.stderr
    assert notes() == ""


def test_the_example_runs_nothing_and_says_how() -> None:
    example = Path(__file__).parents[3] / "examples" / "desk-tidy.md"
    result = run("run", str(example))
    assert result.exit_code == 0
    assert "Nothing ran" in result.stdout
    assert "cannot  unknown_tool" in result.stdout
    assert list(Path().iterdir()) == [Path("tools.py")]


def test_where_results_are_whole_is_said_once_and_only_where_one_was_cut() -> None:
    hint = "ⓘ whole results: run prints them with --json or --reply"
    long = fence("shout", "a") + fence("shout", "b")
    assert run_text(long, "--allow", "shout").stdout.count(hint) == 1
    assert hint not in run_text(long, "--allow", "shout", "--collapse").stdout
    assert hint not in run_text(fence("add", a=1, b=2), "--allow", "add").stdout
    kept = run_text(long, "--allow", "shout", "--timeline", "trip").stdout
    assert "callblocks timeline show trip --view model" in " ".join(kept.split())


def test_calls_that_are_in_code_fences_only_are_hinted_at() -> None:
    quoted = "So:\n```\nWrite 🛠️[add 1 2]\n🛠️[/end]\n```\n"
    hint = "callblocks: a call is quoted in a code fence; --in-code-fences reads it\n"
    assert run_text(quoted).stderr == hint
    assert run_text(quoted, "--in-code-fences", "--allow", "add").stderr == ""
    assert run_text(quoted + fence("add", a=1, b=2)).stderr == ""
    assert run_text("words").stderr == ""
