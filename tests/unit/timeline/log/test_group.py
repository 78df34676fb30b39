from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from callblocks.core.errors import TimelineError
from callblocks.timeline.log import log as group
from callblocks.timeline.log.log import AppendRequest, GroupCommit

ROOT = Path(__file__).parents[4]


def request(name: str = "talk", size: int = 1) -> AppendRequest:
    return AppendRequest(name, [b"x" * size], None, size)


class Gate:
    """A commit that waits until it may go on, and says what it got."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.entered = threading.Semaphore(0)
        self.open = threading.Semaphore(0)
        self.fail: BaseException | None = None

    def __call__(self, batch: list[AppendRequest]) -> None:
        self.batches.append([one.name for one in batch])
        self.entered.release()
        self.open.acquire()
        if self.fail is not None:
            failure, self.fail = self.fail, None
            raise failure
        for one in batch:
            one.entries = []


def start(work: Callable[[], object], errors: list[BaseException]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def waiting(own: GroupCommit, number: int) -> None:
    # The queue is looked at from outside: that the threads are there is what the test needs.
    # Who leads stands in it too, until it is answered.
    while len(own._waiting) < number:
        threading.Event().wait(0.001)


def lead_and_wait(gate: Gate, names: str) -> tuple[list[threading.Thread], list[BaseException]]:
    """One commits, and for each letter one more waits behind it, in order."""
    own = GroupCommit(gate)
    errors: list[BaseException] = []
    threads = [start(lambda: own.run(request("leader")), errors)]
    gate.entered.acquire()
    for at, name in enumerate(names, 2):
        threads.append(start(lambda name=name: own.run(request(name)), errors))
        waiting(own, at)
    return threads, errors


def join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()


def test_those_who_wait_share_the_next_commit_in_their_order() -> None:
    gate = Gate()
    threads, errors = lead_and_wait(gate, "abcdef")
    gate.open.release(2)
    join(threads)
    assert gate.batches == [["leader"], list("abcdef")]
    assert errors == []


def test_a_failed_commit_is_told_to_each_with_an_error_of_its_own() -> None:
    gate = Gate()
    threads, errors = lead_and_wait(gate, "abc")
    gate.open.release()
    gate.entered.acquire()
    gate.fail = TimelineError("store_full", "no room", left=0)
    gate.open.release()
    join(threads)
    assert [getattr(error, "code", "") for error in errors] == ["store_full"] * 3
    assert len({id(error) for error in errors}) == 3


def test_an_interrupted_leader_leaves_nobody_waiting() -> None:
    gate = Gate()
    gate.fail = KeyboardInterrupt()
    threads, errors = lead_and_wait(gate, "ab")
    gate.open.release(2)
    join(threads)
    assert [type(error) for error in errors] == [KeyboardInterrupt]
    assert gate.batches == [["leader"], ["a", "b"]]


def test_an_interrupted_batch_is_told_to_look() -> None:
    gate = Gate()
    threads, errors = lead_and_wait(gate, "abc")
    gate.open.release()
    gate.entered.acquire()
    gate.fail = KeyboardInterrupt()
    gate.open.release()
    join(threads)
    codes = sorted(getattr(error, "code", "interrupted") for error in errors)
    assert codes == ["interrupted", "store_unavailable", "store_unavailable"]


def test_one_that_is_interrupted_while_it_waits_hands_the_call_on() -> None:
    gate = Gate()
    own = GroupCommit(gate)
    errors: list[BaseException] = []
    threads = [start(lambda: own.run(request("leader")), errors)]
    gate.entered.acquire()

    class Interrupted(AppendRequest):
        """Its call never comes: somebody pressed Ctrl-C."""

        __slots__ = ()

    class Calls:
        def get(self, timeout: float) -> None:
            raise KeyboardInterrupt

        def put(self, _: None) -> None: ...

    gone = Interrupted("gone", [b"x"], None)
    gone.calls = Calls()  # pyright: ignore[reportAttributeAccessIssue] all of it that is used
    with pytest.raises(KeyboardInterrupt):
        own.run(gone)
    threads.append(start(lambda: own.run(request("next")), errors))
    waiting(own, 3)
    gate.open.release(2)
    join(threads)
    assert gate.batches == [["leader"], ["next"]]


def test_a_batch_ends_where_it_grows_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "_BATCH", 2)
    gate = Gate()
    threads, errors = lead_and_wait(gate, "abcde")
    gate.open.release(9)
    join(threads)
    assert gate.batches == [["leader"], ["a", "b"], ["c", "d"], ["e"]]
    assert errors == []


def test_one_request_may_be_larger_than_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "_BATCH", 2)
    gate = Gate()
    gate.open.release()
    assert GroupCommit(gate).run(request(size=10)) == []


def test_who_comes_while_one_is_alone_is_called_after_it() -> None:
    gate = Gate()
    gate.open.release()
    own = GroupCommit(gate)
    errors: list[BaseException] = []
    threads: list[threading.Thread] = []

    def work() -> None:
        threads.append(start(lambda: own.run(request("late")), errors))
        waiting(own, 1)

    own.alone(work)
    join(threads)
    assert gate.batches == [["late"]]
    assert errors == []


def test_a_call_that_was_lost_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "_LOOK", 0.01)
    monkeypatch.setattr(GroupCommit, "_call_next", lambda self: None)
    gate = Gate()
    threads, errors = lead_and_wait(gate, "ab")
    gate.open.release(9)
    join(threads)
    assert errors == []


def test_what_a_leader_left_in_the_middle_is_refused_and_not_written_again() -> None:
    gate = Gate()
    gate.open.release(9)
    own = GroupCommit(gate)
    left = request("left")
    own._waiting.append(left)
    own._begun = [left]
    assert own.run(request("next")) == []
    assert gate.batches == [["next"]]
    with pytest.raises(TimelineError, match="look whether the blocks are there"):
        left.answer()


def test_no_interrupt_at_any_moment_leaves_the_lock_or_a_request_behind() -> None:
    # In a process of its own: an interrupt may also hit what measures the coverage of this one.
    program = [sys.executable, "-m", "support.interrupted"]
    places = os.pathsep.join(str(ROOT / part) for part in ("src", "tests"))
    done = subprocess.run(
        program, env={"PYTHONPATH": places}, capture_output=True, timeout=60, check=False
    )
    assert done.stderr.decode() == ""
    assert int(done.stdout) > 1000
