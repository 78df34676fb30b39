"""Requests that would keep the processor busy: they cost their client, and nobody else."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import httpx2
import pytest

from callblocks.guard.workers.worker_process import Worker
from callblocks.server import service
from support.chat_server import Running, running_server

_TESTS = str(Path(__file__).parents[1])
BODY = {"text": "Hello"}


class Hanging:
    """Processes of which the first ones never answer."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.started: list[Worker] = []
        self.has_begun = threading.Event()

    def __call__(self, module: str) -> Worker:
        self.left -= 1
        worker = (
            Worker("support.silent_worker", PYTHONPATH=_TESTS) if self.left >= 0 else Worker(module)
        )
        self.started.append(worker)
        self.has_begun.set()
        return worker


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Hanging:
    processes = Hanging(1)
    monkeypatch.setattr(service, "Worker", processes)
    return processes


@pytest.fixture
def server(tmp_path: Path, hanging: Hanging) -> Generator[Running]:
    with running_server(tmp_path, processes=1, work_seconds=600.0, work_waiting=1) as running:
        yield running


def _posted(server: Running) -> tuple[threading.Thread, list[httpx2.Response]]:
    """A request that goes on in a thread, and what it is answered."""
    answers: list[httpx2.Response] = []
    url = f"{server.client.base_url}/api/parse"
    thread = threading.Thread(
        target=lambda: answers.append(httpx2.post(url, json=BODY, timeout=120))
    )
    thread.start()
    return thread, answers


def _wait_for(server: Running, condition: Callable[[], bool]) -> None:
    """Let the server go on, request by request, until something is so."""
    for _ in range(10_000):
        if condition():
            return
        server.client.get("/")
    raise AssertionError("it never came to that")


def test_health_is_told_while_work_hangs_and_one_client_has_only_its_share(
    server: Running, hanging: Hanging
) -> None:
    budget = server.service._cpu._budget
    first, _ = _posted(server)
    assert hanging.has_begun.wait(120)
    second, answers = _posted(server)
    _wait_for(server, lambda: budget.waiting == 1)
    assert server.client.get("/api/health").json()["status"] == "ok"
    assert server.client.get("/api/tools").status_code == 200
    refused = server.client.post("/api/parse", json=BODY)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    # What hung is gone, and whoever waited is served.
    hanging.started[0].child.kill()
    first.join(120)
    second.join(120)
    assert answers[0].status_code == 200


def test_a_client_that_goes_away_gives_its_place_and_its_process_back(
    server: Running, hanging: Hanging
) -> None:
    budget = server.service._cpu._budget
    with (
        pytest.raises(httpx2.ReadTimeout),
        httpx2.Client(
            base_url=server.client.base_url, timeout=httpx2.Timeout(20, read=0.3)
        ) as gone,
    ):
        gone.post("/api/parse", json=BODY)
    _wait_for(server, lambda: budget.held == 0)
    assert hanging.started[0].child.returncode == -9
    assert server.client.post("/api/parse", json=BODY).status_code == 200


def test_a_client_that_goes_away_while_it_waits_leaves_the_queue(
    server: Running, hanging: Hanging
) -> None:
    budget = server.service._cpu._budget
    first, answers = _posted(server)
    assert hanging.has_begun.wait(120)
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as gone:
        body = json.dumps(BODY).encode()
        head = (
            "POST /api/parse HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        gone.sendall(head.encode() + body)
        _wait_for(server, lambda: budget.waiting == 1)
    _wait_for(server, lambda: budget.waiting == 0)
    hanging.started[0].child.kill()
    first.join(120)
    assert answers[0].status_code == 422


def test_a_process_that_died_while_it_waited_for_work_is_replaced(
    server: Running, hanging: Hanging
) -> None:
    hanging.left = 0
    assert server.client.post("/api/parse", json=BODY).status_code == 200
    hanging.started[0].child.kill()
    hanging.started[0].child.wait()
    assert server.client.post("/api/parse", json=BODY).status_code == 200


def test_work_that_reaches_a_dying_process_is_done_by_another(
    server: Running, hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging.left = 0
    assert server.client.post("/api/parse", json=BODY).status_code == 200
    child = hanging.started[0].child
    os.kill(child.pid, signal.SIGKILL)
    # It dies after it was looked at.
    monkeypatch.setattr(child, "poll", lambda: None)
    assert server.client.post("/api/parse", json=BODY).status_code == 200
    assert len(hanging.started) == 2


def test_a_server_that_ends_says_so_to_those_whose_work_hangs_or_waits(
    tmp_path: Path, hanging: Hanging
) -> None:
    with running_server(tmp_path, processes=1, work_seconds=600.0, work_waiting=1) as server:
        first, answers = _posted(server)
        assert hanging.has_begun.wait(120)
        second, others = _posted(server)
        _wait_for(server, lambda: server.service._cpu._budget.waiting == 1)
        assert server.client.get("/readyz").json() == {"status": "ok"}
        server.service._ends.set()
        ready = server.client.get("/readyz")
        assert (ready.status_code, ready.json()) == (503, {"status": "shutting_down"})
        assert server.client.get("/healthz").json() == {"status": "ok"}
    first.join(120)
    second.join(120)
    codes = [one[0].json()["error"]["code"] for one in (answers, others)]
    assert codes == ["shutting_down", "shutting_down"]
    assert hanging.started[0].child.returncode == -9


def test_work_has_its_time_and_its_process_ends_with_it(tmp_path: Path, hanging: Hanging) -> None:
    with running_server(tmp_path, processes=1, work_seconds=0.2) as server:
        late = server.client.post("/api/parse", json=BODY)
        assert (late.status_code, late.json()["error"]["code"]) == (422, "too_much_work")
        assert hanging.started[0].child.returncode == -9


def test_no_process_is_left_when_the_server_ends(tmp_path: Path, hanging: Hanging) -> None:
    hanging.left = 0
    with running_server(tmp_path) as server:
        assert server.client.post("/api/parse", json=BODY).status_code == 200
        (worker,) = hanging.started
        assert worker.child.returncode is None
    assert worker.child.returncode is not None


def test_a_process_reads_whatever_comes(server: Running, hanging: Hanging) -> None:
    hanging.left = 0
    for text in ("\ud800", "{" * 50, "🛠️[ls]"):
        read = server.client.post(
            "/api/convert",
            content=b'{"into": "tool-fence", "text": %s}' % json.dumps(text).encode(),
            headers={"content-type": "application/json"},
        )
        assert read.status_code in (200, 400)
    pid = hanging.started[0].child.pid
    assert len(hanging.started) == 1
    assert os.sched_getscheduler(pid) == os.SCHED_BATCH
    assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)
    # Priorities count within a session only.
    assert os.getsid(pid) == os.getsid(0)
