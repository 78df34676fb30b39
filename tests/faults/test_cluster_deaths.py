"""Workers that are killed, stopped, drained and cut off, and a turn that kills its workers."""

from __future__ import annotations

import base64
import os
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from callblocks.cluster.turns import FORMAT
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.postgres_store import PostgresStore
from support.chat_server import posted
from support.clusters import ClusterRun, Process, cluster_run, events_of, until
from support.postgres import connect, fresh_database, start_server
from support.stores import block


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterRun]:
    with (
        fresh_database() as database,
        cluster_run(database, tmp_path_factory.mktemp("cluster"), grace=0.2) as run,
    ):
        run.start("api", "api", "worker", "worker")
        yield run


def replicas(run: ClusterRun) -> list[str]:
    return [one.address for one in run.processes if one.role == "api"]


def workers(run: ClusterRun) -> list[Process]:
    """Two workers that live."""
    alive = [one for one in run.processes if one.role == "worker" and one.is_alive]
    return alive if len(alive) > 1 else [*alive, *run.start("worker")]


def row(run: ClusterRun, chat: str) -> tuple[Any, ...]:
    """State, status, code, deaths and fence of the last turn of a chat."""
    with connect(run.database) as connection:
        found = connection.execute(
            "select state, status, code, deaths, fence from callblocks_turns"
            " where timeline = %s order by id desc limit 1",
            (chat,),
        ).fetchone()
    return found or ("", "", "", 0, 0)


def owner(run: ClusterRun, chat: str) -> Process:
    """The worker that runs the turn of a chat."""

    def name() -> str:
        with connect(run.database) as connection:
            found = connection.execute(
                "select worker.name from callblocks_turns as turn"
                " join callblocks_workers as worker on worker.id = turn.worker"
                " where timeline = %s and state = 'running'",
                (chat,),
            ).fetchone()
        return found[0] if found else ""

    pid = int(until(name).split("-")[-2])
    return next(one for one in run.processes if one.pid == pid)


def post(address: str, chat: str, prompt: str) -> None:
    """Begin a turn, and leave."""
    next(events_of(address, chat, prompt))


def ended(run: ClusterRun, chat: str) -> tuple[Any, ...]:
    return until(lambda: (found := row(run, chat))[0] in ("ended", "quarantined") and found)


def effects(run: ClusterRun, key: str) -> list[str]:
    return [one for one in run.effects() if one.split()[1].startswith(key)]


def outputs(events: Iterator[tuple[str, dict[str, Any]]]) -> list[str]:
    """The calls that have a result in a stream."""
    kinds = ("tool-output-available", "tool-output-error")
    return [event["toolCallId"] for _, event in events if event["type"] in kinds]


def blocks(run: ClusterRun, chat: str) -> list[tuple[str, str]]:
    with PostgresStore(run.database) as store:
        return [(one.block.type, one.block.path) for one in store.entries(chat)]


def test_a_turn_goes_on_elsewhere_after_a_kill_and_each_effect_is_done_once(
    run: ClusterRun,
) -> None:
    workers(run)
    first, second = replicas(run)
    chat = "killed"
    stream = events_of(first, chat, "work kill 6 120")
    seen = [next(stream)]
    until(lambda: effects(run, "kill.2"))
    owner(run, chat).end()
    seen += stream
    # The stream broke off; at another replica the client gets the rest.
    assert seen[-2][1]["type"] == "error"
    last = [number for number, _ in seen if number][-1]
    again = list(events_of(second, chat, after=last))
    assert again[-1][1]["type"] == "finish"
    assert again[-2][1].get("messageMetadata", {}).get("status") == "answered"
    assert ended(run, chat)[:4] == ("ended", "answered", "", 1)
    done = effects(run, "kill.")
    assert len(done) == len(set(done))
    # An effect that was under way is indeterminate, and not done again: at most one is missing.
    assert len(done) >= 5
    results = [path for kind, path in blocks(run, chat) if kind == "react.tool.result"]
    paths = [path for path in results if path.startswith("tc:")]
    assert len(set(paths)) == 6


def test_a_worker_that_was_stopped_writes_nothing_once_it_goes_on(run: ClusterRun) -> None:
    workers(run)
    first, second = replicas(run)
    chat = "stopped"
    post(first, chat, "work stop 8 120")
    until(lambda: effects(run, "stop.2"))
    zombie, fence = owner(run, chat), row(run, chat)[4]
    zombie.send(signal.SIGSTOP)
    until(lambda: row(run, chat)[4] > fence and row(run, chat)[0] == "running")
    # What the zombie would write next, with its number.
    with PostgresStore(run.database) as store, pytest.raises(TimelineError) as caught:
        store.append(chat, [block("of a zombie")], fence=fence)
    assert caught.value.code == "fenced"
    zombie.send(signal.SIGCONT)
    with ThreadPoolExecutor(2) as threads:
        follow = threads.map(lambda at: outputs(events_of(at, chat, after="1")), (first, second))
    assert ended(run, chat)[:4] == ("ended", "answered", "", 1)
    seen, also = follow
    assert seen == also
    assert len(seen) == 8
    done = effects(run, "stop.")
    assert len(done) == len(set(done))
    # It finds itself dead, and says so to whoever started it.
    assert zombie.wait(20) == 75


def test_a_turn_that_kills_its_workers_is_quarantined_after_three(run: ClusterRun) -> None:
    workers(run)
    post(replicas(run)[0], "poison", "die poison")
    for deaths in (1, 2, 3):
        until(lambda deaths=deaths: len(effects(run, "poison")) >= deaths, 60)
        workers(run)
    assert ended(run, "poison")[:4] == ("quarantined", "failed", "quarantined", 3)
    assert len(effects(run, "poison")) == 3
    shown = httpx2.get(f"{replicas(run)[1]}/api/chat/poison").json()
    assert shown["status"] == "idle"
    assert shown["messages"][-1]["metadata"]["status"] == "failed"


def test_a_worker_that_is_drained_hands_its_turns_back(run: ClusterRun) -> None:
    workers(run)
    post(replicas(run)[0], "drained", "work drain 6 150")
    until(lambda: effects(run, "drain.1"))
    worker = owner(run, "drained")
    worker.send(signal.SIGTERM)
    assert worker.wait(20) == 0
    assert ended(run, "drained")[:4] == ("ended", "answered", "", 0)
    done = effects(run, "drain.")
    assert len(done) == len(set(done)) == 6


def test_an_approval_is_answered_at_another_replica_and_a_turn_stopped_there(
    run: ClusterRun,
) -> None:
    workers(run)
    first, second = replicas(run)
    stream = events_of(first, "asked", "ask question")
    asked = next(event for _, event in stream if event["type"] == "tool-approval-request")
    answer = {"verdict": "once"}
    (listed,) = httpx2.get(f"{second}/api/approvals?state=pending").json()["approvals"]
    assert (listed["id"], listed["chat"]) == (asked["approvalId"], "asked")
    told = httpx2.post(f"{second}/api/approvals/{asked['approvalId']}", json=answer)
    assert told.status_code == 200
    assert ended(run, "asked")[1] == "answered"
    assert effects(run, "question") == ["ask_first question"]
    post(first, "endless", "say 100000 20")
    assert httpx2.post(f"{second}/api/chat/endless/stop", json={}).json()["stopped"]
    assert ended(run, "endless")[1] == "stopped"


def test_a_file_of_a_message_is_there_at_a_replica_that_never_had_it(run: ClusterRun) -> None:
    workers(run)
    first, second = replicas(run)
    body = posted("hello", "with-file")
    data = base64.b64encode(b"low water").decode()
    file = {"type": "file", "mediaType": "text/plain", "filename": "a.txt"}
    body["messages"][0]["parts"].append({**file, "url": f"data:text/plain;base64,{data}"})
    assert httpx2.post(f"{first}/api/chat", json=body, timeout=60).status_code == 200
    ended(run, "with-file")
    again = {**posted("hello", "with-file"), "trigger": "regenerate-message"}
    assert httpx2.post(f"{second}/api/chat", json=again, timeout=60).status_code == 200
    until(lambda: row(run, "with-file")[0] == "ended")
    shown = httpx2.get(f"{first}/api/chat/with-file").json()["messages"]
    assert shown[1]["metadata"]["versions"]["at"] == 2
    assert [part["type"] for part in shown[0]["parts"]] == ["file", "text"]


def test_a_message_that_is_posted_again_under_its_key_is_one_turn(run: ClusterRun) -> None:
    workers(run)
    first, second = replicas(run)
    stream = list(events_of(first, "once", "work once 1 10"))
    again = list(events_of(second, "once", "work once 1 10"))
    assert again[-2][1]["messageMetadata"] == stream[-2][1]["messageMetadata"]
    assert effects(run, "once") == ["note once.1"]


def test_turns_that_are_due_later_are_taken_listed_and_cancelled_anywhere(run: ClusterRun) -> None:
    workers(run)
    first, second = replicas(run)
    body = {"chat": "later", "prompt": "work later 1 10", "delay": 0, "every": 3600}
    taken = httpx2.post(f"{first}/api/scheduled", json=body).json()
    until(lambda: effects(run, "later"))
    until(lambda: httpx2.get(f"{first}/api/chat/later").json()["status"] == "idle")
    (following,) = httpx2.get(f"{second}/api/scheduled").json()["scheduled"]
    assert (following["chat"], following["every"]) == ("later", 3600)
    assert following["id"] != taken["id"]
    for id, status in ((following["id"], 200), (following["id"], 404), (taken["id"], 404)):
        cancel = httpx2.post(f"{second}/api/scheduled/{id}/cancel", json={})
        assert cancel.status_code == status
    for more in ({"delay": 1, "at": "2030-01-31T12:00:00Z"}, {}, {"at": "2020-01-31T12:00:00Z"}):
        wrong = httpx2.post(f"{first}/api/scheduled", json={"chat": "x", "prompt": "x", **more})
        assert wrong.json()["error"]["code"] == "invalid_request"


def test_a_worker_leaves_turns_of_a_newer_format_to_newer_workers(run: ClusterRun) -> None:
    workers(run)
    first, _ = replicas(run)
    with connect(run.database) as connection:
        connection.execute(
            "insert into callblocks_turns (key, timeline, username, format, request, state)"
            " values (gen_random_uuid(), 'newer', 'ann', %s, '{}', 'queued')",
            (FORMAT + 1,),
        )
        until(
            lambda: connection.execute(
                "select 1 from callblocks_turns where timeline = 'newer' and is_enqueued"
            ).fetchone()
        )
    list(events_of(first, "older", "say 1 0"))
    assert ended(run, "older")[1] == "answered"
    assert row(run, "newer")[0] == "queued"
    assert httpx2.post(f"{first}/api/chat/newer/stop", json={}).json()["stopped"]
    assert row(run, "newer")[:2] == ("ended", "stopped")


def test_a_turn_whose_job_was_lost_is_run(run: ClusterRun) -> None:
    # As where a worker, taken for dead a moment ago, ended the job and could not claim the turn.
    workers(run)
    with connect(run.database) as connection:
        connection.execute(
            "insert into callblocks_turns"
            " (key, timeline, username, format, request, state, is_enqueued, created)"
            " select gen_random_uuid(), 'lost', 'ann', %s, %s, 'queued', true,"
            " now() - interval '1 hour'",
            (FORMAT, b'{"prompt": "work lost 1 10"}'),
        )
    assert ended(run, "lost")[:4] == ("ended", "answered", "", 0)
    assert effects(run, "lost") == ["note lost.1"]


def test_a_worker_answers_probes_alone(run: ClusterRun) -> None:
    worker = workers(run)[0].address
    assert httpx2.get(f"{worker}/readyz").json() == {"status": "ok"}
    text = httpx2.get(f"{worker}/metrics").text
    assert 'callblocks_cluster{what="workers"} ' in text
    assert "callblocks_turns_total" in text
    assert httpx2.get(f"{worker}/api/chats").status_code == 404


def test_a_server_that_is_started_anew_costs_no_turn(tmp_path: Path) -> None:
    server = start_server(tempfile.mkdtemp(prefix="pg-"))
    try:
        with cluster_run(server.get_uri(), tmp_path) as run:
            api, _ = run.start("api", "worker")
            post(api.address, "trip", "work again 8 150")
            until(lambda: effects(run, "again.2"))
            restart(server)
            assert ended(run, "trip")[:2] == ("ended", "answered")
            done = effects(run, "again.")
            assert len(done) == len(set(done)) >= 7
    finally:
        server.cleanup()


def restart(server: Any) -> None:
    """Kill every process of the server at once, and start it on the same files."""
    postmaster = psutil.Process(server.get_pid())
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs(processes, timeout=120)
    server.ensure_postgres_running()
