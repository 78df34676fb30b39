"""Requests that would keep the processor busy: they cost their client, and nobody else."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType
from typing import Any

import httpx2
import pytest

from callblocks.runtime.worker import Worker
from callblocks.server import cpu_work
from callblocks.toolkits.rendering import reading
from callblocks.toolkits.rendering.citing import References
from callblocks.views.timeline.page_markdown import markdown
from support.serving import Running, running_server

BODY = {"text": "Hello"}


class Hanging:
    """Processes of which the first ones never answer."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.started: list[Worker] = []
        self.has_begun = threading.Event()

    def __call__(self, module: str) -> Worker:
        self.left -= 1
        worker = Worker("support.silent_worker" if self.left >= 0 else module)
        self.started.append(worker)
        self.has_begun.set()
        return worker


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Hanging:
    processes = Hanging(1)
    monkeypatch.setattr(cpu_work, "Worker", processes)
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
        target=lambda: answers.append(httpx2.post(url, json=BODY, timeout=60))
    )
    thread.start()
    return thread, answers


def _when(condition: Callable[[], bool]) -> None:
    while not condition():
        pass


def test_health_is_told_while_work_hangs_and_one_client_has_only_its_share(
    server: Running, hanging: Hanging
) -> None:
    budget = server.service._cpu._budget
    first, _ = _posted(server)
    assert hanging.has_begun.wait(20)
    second, answers = _posted(server)
    _when(lambda: budget.waiting == 1)
    assert server.client.get("/api/health").json()["status"] == "ok"
    assert server.client.get("/api/tools").status_code == 200
    refused = server.client.post("/api/parse", json=BODY)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    # What hung is gone, and whoever waited is served.
    hanging.started[0].child.kill()
    first.join(20)
    second.join(20)
    assert answers[0].status_code == 200


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


@pytest.mark.parametrize("text", ["\ud800", "{" * 50, "🛠️[ls]"])
def test_a_process_reads_whatever_comes(server: Running, hanging: Hanging, text: str) -> None:
    hanging.left = 0
    read = server.client.post(
        "/api/convert",
        content=b'{"into": "tool-fence", "text": %s}' % _json(text),
        headers={"content-type": "application/json"},
    )
    assert read.status_code in (200, 400)


def _json(text: str) -> bytes:
    import json

    return json.dumps(text).encode()


def _counted(work: Callable[[], Any], kind: str) -> Counter[str]:
    """How often each function was called."""
    counts: Counter[str] = Counter()

    def note(frame: FrameType, event: str, function: Any) -> None:
        if event == kind:
            counts[frame.f_code.co_name if kind == "call" else function.__name__] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counts


@pytest.mark.parametrize("text", ["![", "["])
def test_brackets_without_an_end_cost_a_few_calls_each_on_a_page(text: str) -> None:
    markdown("warm")
    small, large = (
        _counted(lambda size=size: markdown(text * size), "call").total() for size in (200, 400)
    )
    assert large <= 2.1 * small
    assert large < 400 * 30


def test_formulas_without_an_end_are_looked_for_once() -> None:
    reader = reading._markdown(References(()))
    reader.parse("warm")
    small, large = (
        _counted(lambda size=size: reader.parse(r"\(" * size), "c_call") for size in (200, 400)
    )
    assert small["rfind"] == large["rfind"]
    assert large.total() <= 2.1 * small.total()
    assert "math_inline" in str(reader.parse(r"a \(x\) b"))


@pytest.mark.parametrize(("text", "end"), [("\\[\n\n", ""), ("> \\[\n\n", "a \\]\n")])
def test_blocks_of_formulas_without_an_end_are_not_read(
    text: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for rule in reading.rules["brackets"]["block"]:
        monkeypatch.setitem(rule, "rex", _Noted(asked))
    reading._markdown(References(())).parse(text * 100 + end)
    assert asked == []


class _Noted:
    """A pattern that notes what it is asked, and never matches."""

    def __init__(self, asked: list[str]) -> None:
        self._asked = asked

    def match(self, text: str) -> None:
        self._asked.append(text)
