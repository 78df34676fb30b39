"""A team from its file: `callblocks chat --team`, and a server that lets go of all its models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from callblocks.session.team_file import Member
from support.chat_models import SayingModel
from support.chat_server import chunks, served_host
from support.command_home import fence
from support.teams import team_host

TEAM = """
[team]
consensus = {model = "scripted:speaker"}

[[member]]
name = "reader"
model = "scripted:reader"
tools = ["file_read"]

[[member]]
name = "critic"
model = "scripted:critic"
"""
SCRIPTS = {
    "reader": f"I look.\n\n{fence('file_read', path='a.txt')}<!-- results -->\nIt is alpha.\n",
    "critic": "I doubt it.\n",
    "speaker": "They say alpha.\n",
}


def test_a_team_in_a_file_answers_a_prompt(tmp_path: Path) -> None:
    for name, text in SCRIPTS.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "look.md").write_text(f"---\nmatch: [look]\npace: 0\n---\n{text}")
    (tmp_path / "team.toml").write_text(TEAM)
    (tmp_path / "a.txt").write_text("alpha")
    command = [sys.executable, "-m", "callblocks", "chat", "trip", "--team", "team.toml"]
    done = subprocess.run(
        [*command, "--allow", "file_read", "--prompt", "look", "--json"],
        cwd=tmp_path,
        env={**os.environ, "CALLBLOCKS_HOME": str(tmp_path / "state")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    events: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    (call,) = [event for event in events if event["type"] == "call-ended"]
    assert (call["member"], call["outcome"]["id"]) == ("reader", "reader/c1")
    assert call["outcome"]["output"] == "alpha"
    said = {name: _said(events, name) for name in ("reader", "critic", "")}
    assert said["reader"].split() == ["I", "look.", "It", "is", "alpha."]
    assert (said["critic"].strip(), said[""].strip()) == ("I doubt it.", "They say alpha.")
    assert events[-1]["status"] == "answered"


def _said(events: list[dict[str, Any]], member: str) -> str:
    own = [event for event in events if event.get("member", "") == member]
    wrote = [event["event"] for event in own if event["type"] == "model-wrote"]
    return "".join(event["text"] for event in wrote if event["type"] == "text")


def test_a_server_lets_go_of_every_model_of_its_team(tmp_path: Path) -> None:
    models = [SayingModel("One."), SayingModel("Two."), SayingModel("All.")]
    members = [
        Member(name=name, model=model) for name, model in zip(("one", "two"), models, strict=False)
    ]
    with served_host(lambda: team_host(tmp_path, models[-1], *members)) as server:
        assert chunks(server.say("Go"))
        assert server.say("Go", "trip.one").status_code == 422
        assert not any(model.closed for model in models)
    assert all(model.closed for model in models)
