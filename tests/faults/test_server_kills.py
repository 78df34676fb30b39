"""The server dies by SIGKILL in the middle of a turn: nothing is lost, nothing is repeated."""

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

from support.serving import chunks, posted, said

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
        self.client = httpx2.Client(base_url=address, timeout=20)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self.close()

    def close(self) -> None:
        self.client.close()
        self._process.kill()
        self._process.wait(20)
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
