"""A process is forked while a thread appends: the child is told, and neither hangs nor breaks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import verify
from support.stores import KINDS, block, fresh_address

SCRIPT = """
import os, signal, sys, threading, warnings
from callblocks.core.errors import TimelineError
from callblocks.core.blocks import Block
from callblocks.timeline.log.open_store import open_store

warnings.simplefilter("ignore")
address = sys.argv[1]
store = open_store(address)
said = Block(type="react.notes", author="tool", turn_id="t", ts="", text="x")
store.append("talk", [said])
stop = threading.Event()

def append():
    while not stop.is_set():
        store.append("talk", [said])

def code(use):
    try:
        use()
    except TimelineError as error:
        assert "fork" in error.message, error.message
        return error.code
    return "done"

def child():
    found = [
        code(lambda: store.append("talk", [said])),
        code(lambda: list(store.entries("talk"))),
        code(lambda: store.head("talk")),
    ]
    store.close()
    found.append(code(lambda: open_store(address).append("child", [said])))
    return " ".join(found)

thread = threading.Thread(target=append)
thread.start()
for number in range(4):
    pid = os.fork()
    if not pid:
        signal.alarm(20)
        print(child(), flush=True)
        if number % 2:
            os._exit(0)
        # An end with all that Python does at its end, too.
        store = None
        sys.exit()
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
thread.join()
store.append("talk", [said])
store.close()
"""
REFUSED = "store_unavailable store_unavailable store_unavailable"
ANEW = {"sqlite": "store_unavailable", "postgres": "done"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_child_is_told_that_a_store_belongs_to_its_parent(kind: str, tmp_path: Path) -> None:
    with fresh_address(kind, tmp_path) as address:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, address],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.stderr == ""
        assert done.returncode == 0
        assert done.stdout.splitlines() == [f"{REFUSED} {ANEW[kind]}"] * 4
        with open_store(address) as store:
            assert verify(store, "talk") == []
            store.append("talk", [block()])
