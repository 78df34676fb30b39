"""A cluster under fire, fairness, throughput and wake-ups: `python -m bench.cluster [PART…]`.

    chaos        2 replicas, 3 workers, 100 kill -9 and 20 SIGSTOP/SIGCONT at random, under load;
                 each call keeps a file, in a real S3 server
    fair         the first token of one user, alone and beside another's 10,000 waiting turns
    deep         the same beside 100,000 waiting turns of twenty users
    throughput   turns a second with 1, 2 and 4 workers, beside empty workflows of DBOS
    wakeups      what notifying costs, by the append and collected

All processes are real, and so is PostgreSQL, with commits on the disk. Everything runs on this
machine, which therefore does the work of six.
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from uuid import uuid4

import httpx2

from bench.timing import print_table

# The processes and the server are those of the tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from callblocks.cluster.cluster_database import Database, prepare_cluster
from callblocks.cluster.dbos_engine import DbosEngine
from callblocks.cluster.turn_table import NewTurn, TurnTable
from callblocks.cluster.turns import ClusterLimits, TurnRequest
from callblocks.cluster.wakeups import Wakeups
from callblocks.core.blocks import Block
from callblocks.core.errors import TimelineError
from callblocks.timeline.artifacts.bucket_artifacts import open_artifacts
from callblocks.timeline.log.postgres_store import PostgresStore
from callblocks.timeline.log.transfer import verify
from support.clusters import ClusterRun, Process, cluster_run, events_of, until
from support.postgres import connect, start_server
from support.s3_server import s3_bucket

__all__ = ("chaos", "fair", "main", "throughput", "wakeups")

KILLS = 100
STOPS = 20
SLOWER = 1.2
"""How much slower a first token may be beside a user with many turns."""
TAKEOVER = 5.0
FRAMES = ("start", "start-step", "finish-step", "finish")


def main(*parts: str) -> None:
    """Run some parts, or all."""
    for name, part in PARTS.items():
        if not parts or name in parts:
            part()


@contextmanager
def _server() -> Iterator[str]:
    server = start_server(tempfile.mkdtemp(prefix="pg-"))
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


# --- Chaos ---


class _Client:
    """A person who says something in one chat after another, and follows each turn to its end.

    With each break the client goes to the other replica. `told` has the events of each chat by
    their numbers, as each of two followers saw them.
    """

    def __init__(self, addresses: list[str]) -> None:
        self.addresses = addresses
        self.statuses: dict[str, str] = {}
        self.results: dict[str, set[str]] = {}
        self.told: dict[str, list[dict[str, list[Any]]]] = {}
        self.breaks = 0
        self.answers = Counter[int]()
        self.disorder = 0

    def say(self, chat: str, prompt: str) -> None:
        self.told[chat] = [{}, {}]
        self.results[chat] = set()
        posted = threading.Event()
        other = threading.Thread(target=self._follow, args=(chat, None, 1, posted))
        other.start()
        self._follow(chat, prompt, 0, posted)
        other.join()

    def _follow(self, chat: str, prompt: str | None, who: int, posted: threading.Event) -> None:
        if prompt is None:
            posted.wait(60)
        after, told = "", self.told[chat][who]
        for at in count(who):
            with suppress(httpx2.HTTPError, LookupError):
                pending: list[Any] = []
                for number, event in events_of(
                    self.addresses[at % len(self.addresses)], chat, prompt, after
                ):
                    prompt = None
                    posted.set()
                    # Where a stream, a message and a step begin depends on where a client came in.
                    if event["type"] not in FRAMES:
                        pending.append(event)
                    if event["type"] == "tool-output-available":
                        self.results[chat].add(event["toolCallId"])
                    if event["type"] == "tool-approval-request":
                        self._approve(self.addresses[at % len(self.addresses)], event)
                    status = event.get("messageMetadata", {}).get("status")
                    if status and event["type"] == "message-metadata":
                        self.statuses[chat] = status
                    if number:
                        place = tuple(map(int, number.split(".")))
                        last = tuple(map(int, after.split("."))) if after else (0, 0)
                        self.disorder += place < last
                        # What is told again after a break stands under its block alone.
                        if place[1]:
                            told[number] = pending
                        after, pending = number, []
            if self._is_over(chat):
                return
            self.breaks += who == 0
            time.sleep(0.1)

    def _approve(self, address: str, event: dict[str, Any]) -> None:
        """Approve a call; both followers do, each at a replica of its own.

        A result that came back from the journal may hold text of others, so the next call is asked
        about.
        """
        path = f"{address}/api/approvals/{event['approvalId']}"
        with suppress(httpx2.HTTPError):
            self.answers[httpx2.post(path, json={"verdict": "once"}, timeout=20).status_code] += 1

    def _is_over(self, chat: str) -> bool:
        for address in self.addresses:
            with suppress(httpx2.HTTPError, KeyError, ValueError):
                shown = httpx2.get(f"{address}/api/chat/{chat}", timeout=20)
                if shown.status_code == 200:
                    return shown.json()["status"] in ("idle", "interrupted")
        return False


def chaos(
    kills: int = KILLS,
    stops: int = STOPS,
    clients: int = 6,
    *,
    seed: int = 1,
    takeover: float = TAKEOVER,
) -> None:
    """Kill and stop workers at random under load; every promise is checked at the end.

    A broken promise is a `SystemExit`; so is a takeover that took longer than `takeover` seconds.
    """
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    # Kills from outside say nothing about a turn, so none is quarantined for them.
    with (
        _server() as database,
        s3_bucket() as bucket,
        cluster_run(database, folder, deaths=1000, turns=16, artifacts=f"{bucket}kept") as run,
    ):
        replicas = run.start("api", "api")
        run.start("worker", "worker", "worker")
        client = _Client([one.address for one in replicas])
        done, numbers = threading.Event(), count()

        def talk() -> None:
            while not done.is_set():
                number = next(numbers)
                client.say(f"chat-{number}", f"work k{number} {chance.randint(1, 5)} 150")

        threads = [threading.Thread(target=talk) for _ in range(clients)]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        blows = ["kill"] * kills + ["stop"] * stops
        chance.shuffle(blows)
        takeovers: list[float] = []
        zombies = Counter[str]()
        for number, blow in enumerate(blows, 1):
            if number in (kills // 2, kills):
                # A replica is started anew in the middle of its streams.
                _restart(run, replicas[number == kills])
            _strike(run, blow, chance, takeovers, zombies)
            if number % 10 == 0:
                print(f"  {number} of {len(blows)} blows, {len(client.statuses)} turns", flush=True)
        done.set()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - began
        wrong = _report(run, client, takeovers, zombies, seconds, (kills, stops))
    if wrong or max(takeovers) > takeover:
        sys.exit("a promise was broken")


def _restart(run: ClusterRun, replica: Process) -> None:
    """Kill a replica, and start another at its address."""
    replica.end()
    run.start("api", port=replica.address.rpartition(":")[2])


def _strike(
    run: ClusterRun,
    blow: str,
    chance: random.Random,
    takeovers: list[float],
    zombies: Counter[str],
) -> None:
    """Hit a worker that runs turns; wait until each of them is elsewhere, and start another."""
    alive = [one for one in run.processes if one.role == "worker" and one.is_alive]
    while len(alive) < 3:
        alive += run.start("worker")
    time.sleep(chance.uniform(0.0, 0.3))
    victim = until(lambda: next((one for one in alive if _turns_of(run, one)), None), 60)
    turns = _turns_of(run, victim)
    victim.send(signal.SIGKILL if blow == "kill" else signal.SIGSTOP)
    struck = time.monotonic()
    if blow == "stop" and chance.random() < 0.3:
        # So short that nobody notices: it goes on with its turns.
        time.sleep(chance.uniform(0.1, 1.5))
        victim.send(signal.SIGCONT)
        zombies["continued"] += 1
        return
    # Those that ended between the look and the blow are over.
    waiting = dict(turns)
    while waiting:
        for id, fence in list(waiting.items()):
            state, now = _state(run, id)
            if state == "ended" or (state == "running" and now > fence):
                del waiting[id]
                if state == "running" or now > fence:
                    takeovers.append(time.monotonic() - struck)
        assert time.monotonic() - struck < 60, "a turn was never taken over"
        # Whoever runs the cluster starts again what ended.
        if sum(one.role == "worker" and one.is_alive for one in run.processes) < 3:
            run.begin("worker")
        time.sleep(0.02)
    if blow == "stop":
        for id, fence in turns.items():
            zombies[_append_as(run, id, fence)] += 1
        victim.send(signal.SIGCONT)
        zombies[f"exit {victim.wait(60)}"] += 1


def _turns_of(run: ClusterRun, worker: Process) -> dict[int, int]:
    with connect(run.database) as connection:
        return dict(
            connection.execute(
                "select turn.id, turn.fence from callblocks_turns as turn"
                " join callblocks_workers as worker on worker.id = turn.worker"
                " where state = 'running' and worker.name like %s",
                (f"%-{worker.pid}-%",),
            ).fetchall()
        )


def _state(run: ClusterRun, id: int) -> tuple[str, int]:
    with connect(run.database) as connection:
        row = connection.execute(
            "select state, fence from callblocks_turns where id = %s", (id,)
        ).fetchone()
    return row or ("ended", 0)


def _append_as(run: ClusterRun, id: int, fence: int) -> str:
    """Append what a zombie would; return whether it was refused."""
    with connect(run.database) as connection:
        row = connection.execute(
            "select timeline, fence from callblocks_turns where id = %s", (id,)
        ).fetchone()
    if row is None or row[1] == fence:
        return "turn had ended"
    block = Block(
        type="react.notes", author="assistant", turn_id="turn_1", ts="2030-01-31T12:00:00Z"
    )
    try:
        with PostgresStore(run.database) as store:
            store.append(row[0], [block], fence=fence)
    except TimelineError as error:
        return error.code
    return "WRITTEN"


def _report(
    run: ClusterRun,
    client: _Client,
    takeovers: list[float],
    zombies: Counter[str],
    seconds: float,
    blows: tuple[int, int],
) -> bool:
    """Print what happened; return whether a promise was broken."""
    effects = run.effects()
    with connect(run.database) as connection:
        states = Counter(
            f"{state} {status}"
            for state, status in connection.execute(
                "select state, status from callblocks_turns"
            ).fetchall()
        )
        most = connection.execute("select max(deaths) from callblocks_turns").fetchone()
    lost = faults = ends = indeterminate = 0
    kept = missing = 0
    artifacts = open_artifacts(run.artifacts)
    with PostgresStore(run.database) as store:
        for chat, results in client.results.items():
            faults += len(verify(store, chat))
            blocks = [entry.block for entry in store.entries(chat)]
            digests = {one.meta["digest"] for one in blocks if "digest" in one.meta}
            kept += len(digests)
            missing += sum(artifacts.check(digest) is not None for digest in digests)
            ends += (
                sum(
                    one.type == "timeline.turn" and one.meta.get("status") != "interrupted"
                    for one in blocks
                )
                == 1
            )
            there = {one.call_id for one in blocks if one.type == "react.tool.result"}
            lost += len(results - there)
            indeterminate += sum(
                one.type == "react.tool.result" and "indeterminate" in (one.text or "")
                for one in blocks
            )
    differing = sum(
        mine[number] != theirs[number]
        for mine, theirs in client.told.values()
        for number in mine.keys() & theirs.keys()
    )
    for mine, theirs in client.told.values():
        for number in mine.keys() & theirs.keys():
            if mine[number] != theirs[number]:
                print("differing:", number, mine[number], theirs[number], sep="\n  ")
    common = sum(len(mine.keys() & theirs.keys()) for mine, theirs in client.told.values())
    rows = [
        ["kill -9, SIGSTOP", f"{blows[0]}, {blows[1]}"],
        ["seconds", f"{seconds:,.0f}"],
        ["turns", f"{len(client.results):,}"],
        ["turns that ended once", f"{ends:,}"],
        ["states", ", ".join(f"{name}: {number}" for name, number in states.items())],
        ["most deaths under one turn", str(most[0] if most else 0)],
        ["results that a client saw and the timeline lacks", str(lost)],
        ["faults of the hash chains", str(faults)],
        ["files that timelines name; missing in the bucket", f"{kept:,}; {missing}"],
        ["effects; done twice", f"{len(effects):,}; {len(effects) - len(set(effects))}"],
        ["effects that ended indeterminate", str(indeterminate)],
        ["takeovers", str(len(takeovers))],
        ["takeover, median and longest", f"{median(takeovers):.2f} s, {max(takeovers):.2f} s"],
        ["appends of zombies", ", ".join(f"{name}: {number}" for name, number in zombies.items())],
        ["broken streams", str(client.breaks)],
        ["answers of two to one question: taken; too late", _answers(client)],
        ["events seen by both followers; differing", f"{common:,}; {differing}"],
        ["events out of order", str(client.disorder)],
    ]
    print_table("2 replicas, 3 workers", ["what", ""], rows)
    wrong = [
        ends != len(client.results),
        lost,
        faults,
        missing,
        len(effects) != len(set(effects)),
        zombies["WRITTEN"],
        differing,
        client.disorder,
    ]
    return any(wrong)


def _answers(client: _Client) -> str:
    return f"{client.answers[200]}; {client.answers[409]}"


# --- Fairness ---


def fair(waiting: int = 10_000, samples: int = 40) -> None:
    """Measure one user's first token, alone and beside a user with many waiting turns.

    The rows of the queue are copies of one, ours and the engine's.
    """
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    with _server() as database, cluster_run(database, folder, waiting=waiting) as run:
        (api,) = run.start("api")
        run.start("worker", "worker")
        _first_tokens(api.address, "warm", 5)
        alone = _first_tokens(api.address, "alone", samples)
        known = Database(database)
        limits = ClusterLimits(waiting=waiting)
        table, engine = TurnTable(known, limits), DbosEngine(database, limits)
        _copy_queue(known, _first_of_queue(table, engine), waiting, 1)
        beside = _first_tokens(api.address, "beside", samples)
        left = table.count_active()
        engine.close()
        known.close()
    ratio = median(beside) / median(alone)
    rows = [
        [name, f"{median(times) * 1000:.0f} ms", f"{quantiles(times, n=20)[-1] * 1000:.0f} ms"]
        for name, times in (("alone", alone), ("beside the other", beside))
    ]
    title = f"First token, another user has {left:,} turns waiting"
    print_table(title, ["", "median", "19 of 20"], [*rows, ["ratio", f"{ratio:.2f}", ""]])
    if ratio > SLOWER:
        sys.exit(f"the first token is more than {SLOWER} times as late")


def deep(waiting: int = 100_000, users: int = 20, samples: int = 20) -> None:
    """Measure a first token and the list of chats beside a very long queue.

    The rows of the queue are copies of one, ours and the engine's.
    """
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    with _server() as database, cluster_run(database, folder, waiting=waiting) as run:
        (api,) = run.start("api")
        known = Database(database)
        limits = ClusterLimits(waiting=waiting)
        table, engine = TurnTable(known, limits), DbosEngine(database, limits)
        _copy_queue(known, _first_of_queue(table, engine), waiting, users)
        run.start("worker", "worker")
        _first_tokens(api.address, "warm", 3)
        beside = _first_tokens(api.address, "beside", samples)
        listed: list[float] = []
        for _ in range(10):
            began = time.monotonic()
            httpx2.get(f"{api.address}/api/chats?limit=50", timeout=60).raise_for_status()
            listed.append(time.monotonic() - began)
        left = table.count_active()
        engine.close()
        known.close()
    rows = [
        ["a first token", f"{median(beside) * 1000:.0f} ms", f"{max(beside) * 1000:.0f} ms"],
        ["a list of chats", f"{median(listed) * 1000:.0f} ms", f"{max(listed) * 1000:.0f} ms"],
    ]
    print_table(f"{left:,} turns of {users} users wait", ["", "median", "longest"], rows)


def _first_of_queue(table: TurnTable, engine: DbosEngine) -> int:
    """Put a turn into the queue; return its number."""
    request = TurnRequest(prompt="work many 0 500")
    job = table.submit(NewTurn(uuid4(), "first", "user-0", request))
    engine.enqueue(job)
    table.enqueued(job)
    return job.turn


def _copy_queue(known: Database, turn: int, waiting: int, users: int) -> None:
    """Copy a turn that waits, and its job, so many times."""
    known.execute(
        "insert into callblocks_turns (key, timeline, username, format, request, state,"
        " is_enqueued) select gen_random_uuid(), 'deep-' || at, 'user-' || at %% %s, format,"
        " request, 'queued', true from callblocks_turns, generate_series(1, %s) as at"
        " where id = %s",
        users,
        waiting,
        turn,
    )
    # The first may have been taken by now, and its copies were not.
    fresh = {"queue_partition_key": "new.username", "status": "'ENQUEUED'"}
    fresh |= dict.fromkeys(("executor_id", "started_at_epoch_ms", "completed_at"), "null")
    _copy_jobs(known, "workflow_status", turn, fresh)
    inputs = f"replace(old.inputs, 'turn-{turn}.1', 'turn-' || new.id || '.1')"
    _copy_jobs(known, "workflow_input", turn, {"inputs": inputs})


def _copy_jobs(known: Database, table: str, turn: int, changed: dict[str, str]) -> None:
    columns = [
        row[0]
        for row in known.execute(
            "select column_name from information_schema.columns"
            " where table_schema = 'callblocks_dbos' and table_name = %s"
            " and is_generated = 'NEVER'",
            table,
        )
    ]
    changed["workflow_uuid"] = "'turn-' || new.id || '.1'"
    values = ", ".join(changed.get(name, f"old.{name}") for name in columns)
    names = ", ".join(columns)
    with known.borrow() as connection:
        connection.execute(
            f"insert into callblocks_dbos.{table} ({names}) select {values}"
            f" from callblocks_dbos.{table} as old, callblocks_turns as new"
            " where old.workflow_uuid = %s and new.timeline like 'deep-%%'".encode(),
            (f"turn-{turn}.1",),
        )


def _first_tokens(address: str, name: str, samples: int) -> list[float]:
    times: list[float] = []
    for at in range(samples):
        began = time.monotonic()
        for _, event in events_of(address, f"{name}-{at}", "say 1 0"):
            if event["type"] == "text-delta":
                times.append(time.monotonic() - began)
        time.sleep(random.uniform(0, 0.1))
    return times


# --- Throughput ---


def throughput(turns: int = 600) -> None:
    """Measure turns a second with 1, 2 and 4 workers, beside empty workflows of DBOS."""
    rows: list[list[str]] = []
    for workers in (1, 2, 4):
        ours = _rate("worker", workers, turns)
        bare = _rate("dbos", workers, turns)
        rows.append([str(workers), f"{ours:.0f}", f"{bare:.0f}", f"{ours / bare:.2f}"])
    title = f"{turns} idle turns of 50 users, and as many empty workflows: a second"
    print_table(title, ["workers", "turns/s", "workflows/s", "ratio"], rows)


def _rate(role: str, workers: int, turns: int) -> float:
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    with _server() as database, cluster_run(database, folder, turns=64, running=50) as run:
        PostgresStore(database).close()
        prepare_cluster(database)
        limits = ClusterLimits(turns=64, running=50)
        known = Database(database)
        table, engine = TurnTable(known, limits), DbosEngine(database, limits)
        jobs = [
            table.submit(
                NewTurn(uuid4(), f"c{at}", f"user-{at % 50}", TurnRequest(prompt="say 1 0"))
            )
            for at in range(turns)
        ]
        for job in jobs:
            # The sweep of a worker must not take the time of the measurement.
            table.enqueued(job)
        for job in jobs:
            engine.enqueue(job)
        run.start(*[role] * workers)

        def finished() -> int:
            query = (
                "select count(*) from callblocks_dbos.workflow_status where status = 'SUCCESS'"
                if role == "dbos"
                else "select count(*) from callblocks_turns where state = 'ended'"
            )
            return known.execute(query)[0][0]

        # From the first that are done to the last: processes start one after another.
        first = until(lambda: (number := finished()) >= turns // 10 and number, 60)
        began = time.monotonic()
        until(lambda: finished() == turns, 300)
        seconds = time.monotonic() - began
        engine.close()
        known.close()
        return (turns - first) / seconds


# --- Wake-ups ---


def wakeups(seconds: float = 3.0) -> None:
    """Measure what notifying costs, and how late a wake-up comes."""
    with _server() as database:
        rows = [
            ["appends/s, each notifies", f"{_appends(database, seconds, None):,.0f}"],
            ["appends/s, collected", f"{_appends(database, seconds, Wakeups(database)):,.0f}"],
        ]
        commits = _commits(database, seconds)
        rows.append(["commits/s that notify, 8 connections", f"{commits:,.0f}"])
        rows.append(["processes that may be busy at once", f"{commits / 100:,.0f}"])
        late = _lateness(database)
        worst = quantiles(late, n=20)[-1]
        rows.append(
            ["a wake-up comes after", f"{median(late) * 1000:.1f} ms, {worst * 1000:.1f} ms"]
        )
    print_table("Wake-ups", ["what", ""], rows)


def _appends(database: str, seconds: float, told: Wakeups | None) -> float:
    def tell(names: Any) -> None:
        if told is not None:
            told.tell(*(f"timeline/{name}" for name in names))

    def write(at: int) -> int:
        # Connections of their own, as processes have.
        with PostgresStore(database, tell=tell if told else None) as store:
            block = Block(
                type="react.notes", author="assistant", turn_id="t", ts="2030-01-31T12:00:00Z"
            )
            latest, number = time.monotonic() + seconds, 0
            while time.monotonic() < latest:
                store.append(f"talk-{at}-{told is None}", [block])
                number += 1
            return number

    with ThreadPoolExecutor(8) as threads:
        total = sum(threads.map(write, range(8)))
    if told is not None:
        told.close()
    return total / seconds


def _commits(database: str, seconds: float) -> float:
    def notify(_: int) -> int:
        with connect(database) as connection:
            latest, number = time.monotonic() + seconds, 0
            while time.monotonic() < latest:
                connection.execute("select pg_notify('bench', 'x')")
                number += 1
            return number

    with ThreadPoolExecutor(8) as threads:
        return sum(threads.map(notify, range(8))) / seconds


def _lateness(database: str) -> list[float]:
    here, there = Wakeups(database), Wakeups(database, sender="elsewhere")
    heard, late = threading.Event(), list[float]()
    with there.hearing("turn/1", heard.set):
        heard.wait(10)
        for _ in range(200):
            heard.clear()
            began = time.monotonic()
            here.tell("turn/1")
            heard.wait(10)
            late.append(time.monotonic() - began)
            time.sleep(0.015)
    here.close()
    there.close()
    return late


PARTS: dict[str, Callable[[], None]] = {
    "chaos": chaos,
    "fair": fair,
    "deep": deep,
    "throughput": throughput,
    "wakeups": wakeups,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
