"""`callblocks demo`: the page, a sample to work on and scripts that fit it."""

from __future__ import annotations

import csv
import mailbox
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import Result

from callblocks.cli.chat.chat_setup import OFFICE_SCRIPTS
from callblocks.cli.chat.demo_folder import DemoPlace
from callblocks.cli.commands import demo
from callblocks.guard.files.root import Root
from callblocks.models.scripted import ScriptFolder
from callblocks.parser import parse
from callblocks.toolkits.standard import standard_tools
from support.chat_server import chunks, client_of, lines, posted, said
from support.command import run
from support.command_home import move_in

# Nobody waits for the pace of a real model here.
PROGRAM = (
    "from callblocks.models import scripted; scripted.NATURAL = 0.0;"
    "from callblocks.cli.commands.demo import command; command()"
)
SCRIPTS = Path(demo.__file__).with_name("demo_scripts")
SAID = "the booking is changed to 24 pupils, until 15:25; the answer is on its way."


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return move_in(tmp_path, monkeypatch)


def _demo(*args: str) -> Result:
    return run("demo", *args)


@contextmanager
def _running(*args: str) -> Generator[tuple[subprocess.Popen[str], httpx2.Client, str]]:
    """The program, a client of it, and what it says at first."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "--no-open", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        told = address = process.stdout.readline().strip()
        assert "/#token=" in address
        while "Ctrl-C" not in told:
            told += process.stdout.readline()
        with client_of(address) as client:
            yield process, client, told
    finally:
        process.kill()
        process.communicate()


def test_it_serves_the_page_works_on_the_sample_asks_and_ends_quietly(tmp_path: Path) -> None:
    place = DemoPlace(tmp_path / "demo")
    with _running("--port", "0", "--state", os.fspath(place.folder)) as (process, client, told):
        assert "<!doctype html>" in client.get("/").text.lower()
        (model,) = client.get("/api/models").json()["models"]
        assert {"02-change-the-plan", "05-refusal"} <= {one["name"] for one in model["scenarios"]}
        body = {**posted("Whatever", "one"), "scenario": "02-change-the-plan"}
        with client.stream("POST", "/api/chat?sdk_version=5", json=body) as response:
            chunk = lines(response.iter_lines())
            asked = next(one for one in chunk if one["type"] == "data-approval")
            # Three files were read unasked; the change is shown before it is made.
            assert "-- 05:30 meet at the old quay" in asked["data"]["preview"]
            client.post(f"/api/approvals/{asked['data']['id']}", json={"verdict": "once"})
            list(chunk)
        assert "04:45" in (place.workspace / "plan.md").read_text("utf-8")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert errors == ""
    assert str(place.workspace) in told


def test_mail_is_read_unasked_and_what_it_leads_to_is_asked(tmp_path: Path) -> None:
    place = DemoPlace(tmp_path / "demo")
    asked: dict[str, str] = {}
    with _running("--port", "0", "--state", os.fspath(place.folder)) as (_, client, _told):
        body = {**posted("What is new in the mail?", "one"), "scenario": "05-answer-the-mail"}
        with client.stream("POST", "/api/chat?sdk_version=5", json=body) as response:
            told: list[dict[str, Any]] = []
            for one in lines(response.iter_lines()):
                told.append(one)
                if one["type"] == "data-approval" and one["data"]["id"] not in asked:
                    asked[one["data"]["id"]] = one["data"]["preview"]
                    answer = f"/api/approvals/{one['data']['id']}"
                    client.post(answer, json={"verdict": "once"})
    answer = " ".join(said(told).split())
    assert f"Where you said yes, it is done: {SAID}" in answer
    # What came back is not repeated as it is.
    assert "htmlLink" not in answer
    changed, sent = asked.values()
    assert "22 pupils" in changed
    assert "24 pupils" in changed
    assert "petra.novak@northschool.example" in sent
    event = (place.workspace / "office/calendar/primary/schooltrip.ics").read_text("utf-8")
    assert "24 pupils" in event
    mails = mailbox.Maildir(place.workspace / "office/mail", create=False)
    newest = max(mails, key=lambda mail: mail["Date"] and parsedate_to_datetime(mail["Date"]))
    assert newest["To"] == "petra.novak@northschool.example"
    assert newest["In-Reply-To"] == "<14-school-trip-more@holmferry.example>"


def test_what_a_person_changed_stays(tmp_path: Path) -> None:
    place = DemoPlace(tmp_path / "demo")
    place.prepare()
    (place.workspace / "plan.md").write_text("mine")
    (place.workspace / "README.md").unlink()
    place.prepare()
    assert (place.workspace / "plan.md").read_text() == "mine"
    assert not (place.workspace / "README.md").exists()


def test_the_sample_is_what_its_readme_says(tmp_path: Path) -> None:
    place = DemoPlace(tmp_path / "demo")
    place.prepare()
    named = {path.name for path in place.workspace.iterdir()}
    files = {"README.md", "plan.md", "tides.csv", "soundings.csv", "windows.py"}
    assert named == files | {"notes", "office"}
    text = (place.workspace / "README.md").read_text("utf-8")
    assert all(f"`{name}" in text for name in named - {"README.md"})
    assert not list(place.workspace.rglob("__pycache__"))
    assert {path.name for path in place.folder.iterdir()} == {"state", "workspace"}


def test_the_program_of_the_sample_makes_a_table_and_a_pdf(tmp_path: Path) -> None:
    place = DemoPlace(tmp_path / "demo")
    place.prepare()
    done = subprocess.run(
        [sys.executable, "windows.py"], cwd=place.workspace, capture_output=True, check=True
    )
    assert done.stdout.decode().count("\n") == 14
    with (place.workspace / "windows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[7] == {"date": "2031-05-17", "low": "06:13", "opens": "04:28", "closes": "07:58"}
    sheet = (place.workspace / "windows.pdf").read_bytes()
    assert sheet.startswith(b"%PDF-1.4")
    start = int(sheet.rsplit(b"startxref\n", 1)[1].split()[0])
    assert sheet[start : start + 4] == b"xref"


def test_every_call_of_its_scripts_fits_a_tool(tmp_path: Path) -> None:
    from callblocks.cli.chat.demo_folder import demo_tools

    with Root(tmp_path) as root:
        tools = standard_tools(root) | demo_tools(root)
        folder = ScriptFolder(SCRIPTS, [OFFICE_SCRIPTS])
        assert folder.broken == {}
        for script in folder.scripts:
            for reply in script.replies:
                parsed = parse(reply, tools=tools)
                assert parsed.problems == []
                assert all(tools[one.name].check(one.input).faults == () for one in parsed.calls)


def test_a_file_is_shown_as_it_is(tmp_path: Path) -> None:
    with _running("--port", "0", "--fresh") as (_, client, _told):
        body = {**posted("Read everything", "one"), "scenario": "04-read-everything"}
        told = chunks(client.post("/api/chat", json=body))
        (kept,) = [one["data"] for one in told if one["type"] == "data-artifact"]
        whole = client.get(kept["url"])
        assert whole.headers["content-type"] == "text/plain; charset=utf-8"
        assert whole.text.count("\n") > 3000
        assert "Seven of eight came back" in said(told)


def test_a_port_that_is_taken_is_passed_over_unless_it_was_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        named = _demo("--port", str(port), "--no-open")
        assert named.exit_code == 2
        assert "name another with --port" in named.stderr
        program = f"from callblocks.cli.commands import demo; demo._PORT = {port}; demo.command()"
        process = subprocess.Popen(
            [sys.executable, "-c", program, "--no-open"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert f":{port}/" not in address
            with client_of(address) as client:
                assert client.get("/api/tools").status_code == 200
        finally:
            process.kill()
            process.communicate()


def test_a_folder_that_cannot_be_made_is_told_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = _demo("--state", os.fspath(tmp_path / "file/demo"), "--no-open")
    assert result.exit_code == 2
    assert "--state" in result.stderr
    assert "Traceback" not in result.stderr


def test_fresh_and_state_exclude_each_other(tmp_path: Path) -> None:
    result = _demo("--fresh", "--state", os.fspath(tmp_path))
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("opens", "display", "opened"), [(True, ":0", 1), (True, "", 0), (False, ":0", 0)]
)
def test_a_browser_opens_where_there_is_a_screen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, opens: bool, display: str, opened: int
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(demo, "_open_browser", asked.append)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setattr(sys, "platform", "linux")
    place = DemoPlace(tmp_path)
    place.state.mkdir()
    demo._tell("http://127.0.0.1:1", "a-secret", place, opens=opens)
    assert len(asked) == opened
    for address in asked:
        # Arguments of a program are seen by every user of the machine.
        assert "a-secret" not in address
        door = Path(address.removeprefix("file://"))
        assert door.stat().st_mode & 0o777 == 0o600
        assert "http://127.0.0.1:1/#token=a-secret" in door.read_text()
