"""The server ends in the middle of a turn, killed or told to: nothing is lost or repeated."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from callblocks.approvals.book import ApprovalBook
from callblocks.timeline.timeline import APPROVALS
from support.chat_server import chunks, posted, said

TESTS = Path(__file__).parent.parent


class Program:
    """A server in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.served_program", str(folder)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent / 'src'}"},
        )
        assert self._process.stdout is not None
        address = self._process.stdout.readline().strip()
        self.client = httpx2.Client(base_url=address, timeout=120)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self.close()

    def end(self, number: int) -> None:
        """Tell it to end, and wait until it has."""
        self._process.send_signal(number)
        self._process.wait(120)

    def close(self) -> None:
        self.client.close()
        self._process.kill()
        self._process.wait(120)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def program(folder: Path) -> Generator[Program]:
    running = Program(folder)
    try:
        yield running
    finally:
        running.close()


def _approval(given: list[dict[str, Any]]) -> str:
    return next(chunk["approvalId"] for chunk in given if "approvalId" in chunk)


def _answer(approval: str) -> dict[str, Any]:
    answer = {"id": approval, "approved": True}
    part = {"type": "dynamic-tool", "state": "approval-responded", "approval": answer}
    return {"id": "trip", "messages": [{"id": "a", "role": "assistant", "parts": [part]}]}


def _blocks(client: httpx2.Client) -> list[dict[str, Any]]:
    page = client.get("/api/timelines/trip", params={"limit": 1000}).json()
    return [item["block"] for item in page["items"]]


def test_a_turn_that_waited_for_an_answer_asks_again_and_goes_on(tmp_path: Path) -> None:
    with program(tmp_path) as first:
        _approval(chunks(first.client.post("/api/chat", json=posted("note tea"))))
        first.kill()
    with program(tmp_path) as second:
        client = second.client
        assert client.get("/api/chat/trip").json()["status"] == "interrupted"
        assert client.get("/api/chat/trip/stream").status_code == 204
        told = chunks(client.get("/api/chat/trip/stream", params={"after": 0}))
        assert said(told).strip() == "I note it."
        _check_interrupted(told)
        shown = client.get("/api/chat/trip").json()["messages"][-1]
        assert shown["metadata"]["status"] == "interrupted"
        assert [part["state"] for part in shown["parts"][1:]] == ["done", "input-available"]
        assert client.post("/api/chat/trip/resume", json={}).json()["turn"] == "turn_1"
        again = chunks(client.get("/api/chat/trip/stream"))
        assert said(again).strip() == "I note it."
        rest = chunks(client.post("/api/chat", json=_answer(_approval(again))))
        assert said(rest) == "Done."
        assert (tmp_path / "notes").read_text() == "tea\n"
        shown = client.get("/api/chat/trip").json()
        assert (shown["status"], len(shown["messages"])) == ("idle", 2)
        assert client.get("/api/timelines/trip/verify").json()["problems"] == []
        assert client.post("/api/chat/trip/resume", json={}).status_code == 409


def test_an_effect_that_was_under_way_is_indeterminate_and_not_repeated(tmp_path: Path) -> None:
    with program(tmp_path) as first:
        asked = chunks(first.client.post("/api/chat", json=posted("hang")))
        with first.client.stream("POST", "/api/chat", json=_answer(_approval(asked))):
            hangs = tmp_path / "hangs"
            while not hangs.exists() or not hangs.read_text():
                pass
        first.kill()
    with program(tmp_path) as second:
        assert second.client.post("/api/chat/trip/resume", json={}).status_code == 200
        told = chunks(second.client.get("/api/chat/trip/stream", params={"after": 0}))
        assert any("indeterminate" in str(chunk) for chunk in told)
        assert (tmp_path / "hangs").read_text() == "x"
        results = [one for one in _blocks(second.client) if one["type"] == "react.tool.result"]
        assert len({one["call_id"] for one in results}) == 1


def _check_interrupted(told: list[dict[str, Any]]) -> None:
    """Whether a stream ends with that, and with what to do."""
    metadata, error, finish = told[-3:]
    assert metadata["messageMetadata"]["status"] == "interrupted"
    assert "POST /api/chat/trip/resume" in error["errorText"]
    assert finish == {"type": "finish"}


def _last_id(text: str) -> str:
    return [line for line in text.splitlines() if line.startswith("id: ")][-1].removeprefix("id: ")


def test_who_has_all_that_was_written_is_told_the_interruption_and_nothing_twice(
    tmp_path: Path,
) -> None:
    with program(tmp_path) as first:
        asked = first.client.post("/api/chat", json=posted("note tea"))
        first.kill()
    with program(tmp_path) as second:
        headers = {"last-event-id": _last_id(asked.text)}
        for _ in range(2):
            told = chunks(second.client.get("/api/chat/trip/stream", headers=headers))
            assert [one["type"] for one in told[:-3]] == ["start"]
            _check_interrupted(told)
        last = second.client.get("/api/chat/trip").json()["last"]
        second.client.post("/api/chat/trip/resume")
        for id in (headers["last-event-id"], last):
            again = chunks(second.client.get("/api/chat/trip/stream", params={"after": id}))
            assert said(again) == ""
        assert (
            said(chunks(second.client.post("/api/chat", json=_answer(_approval(again))))) == "Done."
        )


def test_who_was_cut_off_in_mid_speech_is_told_the_interruption(tmp_path: Path) -> None:
    with program(tmp_path) as first:
        old = first.client.post("/api/chat", json=posted("Hello")).text
        lines: list[str] = []
        with first.client.stream("POST", "/api/chat", json=posted("slow boat")) as response:
            for line in response.iter_lines():
                lines.append(line)
                if "One." in line:
                    break
        first.kill()
    with program(tmp_path) as second:

        def after(id: str) -> httpx2.Response:
            return second.client.get("/api/chat/trip/stream", params={"after": id})

        told = chunks(after(_last_id("\n".join(lines))))
        assert told[0] == {"type": "start", "messageId": "turn_2"}
        assert said(told) == ""
        _check_interrupted(told)
        # The turn before is another one, and it ended.
        assert after(_last_id(old)).status_code == 204
        rest = chunks(after("1.1"))
        assert rest[0]["messageId"] == "turn_1"
        assert said(rest) == "You said: Hello"
        assert rest[-2]["messageMetadata"]["status"] == "answered"


def test_a_new_message_marks_the_turn_that_died_as_interrupted(tmp_path: Path) -> None:
    with program(tmp_path) as first:
        with first.client.stream("POST", "/api/chat", json=posted("slow boat")) as response:
            for line in response.iter_lines():
                if "One." in line:
                    break
        first.kill()
    with program(tmp_path) as second:
        assert said(chunks(second.client.post("/api/chat", json=posted("Hello")))).endswith("Hello")
        ends = [
            one["meta"]["status"]
            for one in _blocks(second.client)
            if one["type"] == "timeline.turn"
        ]
        assert ends == ["interrupted", "answered"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_told_to_end_leaves_its_turns_to_the_next(
    tmp_path: Path, number: int
) -> None:
    with program(tmp_path) as first:
        approval = _approval(chunks(first.client.post("/api/chat", json=posted("note tea"))))
        first.end(number)
    with ApprovalBook(tmp_path / "state" / APPROVALS) as book:
        book.approve(approval)
    with program(tmp_path) as second:
        client = second.client
        (end,) = [one["meta"] for one in _blocks(client) if one["type"] == "timeline.turn"]
        assert (end["status"], end["code"]) == ("interrupted", "interrupted")
        assert end["message"] == "the program ended while the turn ran"
        assert client.get("/api/chat/trip").json()["status"] == "interrupted"
        assert client.post("/api/chat/trip/resume", json={}).json()["turn"] == "turn_1"
        rest = chunks(client.get("/api/chat/trip/stream", params={"after": 0}))
        assert said(rest).strip().endswith("Done.")
        assert (tmp_path / "notes").read_text() == "tea\n"


def test_a_reply_that_was_cut_by_the_end_of_the_server_is_asked_for_again(tmp_path: Path) -> None:
    with program(tmp_path) as first:
        with first.client.stream("POST", "/api/chat", json=posted("slow boat")) as response:
            for line in response.iter_lines():
                if "One." in line:
                    break
        first.end(signal.SIGTERM)
    with program(tmp_path) as second:
        assert second.client.get("/api/chat/trip").json()["status"] == "interrupted"
        assert second.client.post("/api/chat/trip/resume", json={}).json()["turn"] == "turn_1"
        assert second.client.get("/api/chat/trip").json()["status"] == "running"
