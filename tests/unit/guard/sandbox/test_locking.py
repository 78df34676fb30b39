"""A process that locks itself in reaches nothing but what it was told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from callblocks.guard.sandbox.landlock import landlock_version

PROBE = """
import ctypes, os, socket, sys
from callblocks.guard.sandbox.landlock import lock_in, own_places
kept, open_to_it = sys.argv[1:]
assert lock_in(read=own_places(), write=[open_to_it], parent=os.getppid())

def tried(act):
    try:
        act()
    except OSError as error:
        return type(error).__name__
    return "done"

print(tried(lambda: open(kept)))
print(tried(lambda: open("/etc/passwd")))
print(tried(lambda: os.listdir(os.path.dirname(kept))))
print(tried(lambda: open(kept + ".new", "w")))
print(tried(lambda: socket.socket(socket.AF_INET)))
print(tried(lambda: socket.socket(socket.AF_UNIX)))
print(tried(lambda: os.execv("/bin/true", ["true"])))
print(tried(lambda: os.kill(os.getppid(), 0)))
print(tried(lambda: open(open_to_it + "/x", "w")))
print(tried(lambda: open(os.__file__)))
# A library in C asks the kernel itself.
print(ctypes.CDLL(None).open(kept.encode(), 0))
"""


def test_a_process_that_is_locked_in_reaches_only_what_it_was_told(tmp_path: Path) -> None:
    kept, open_to_it = tmp_path / "kept" / "key", tmp_path / "open"
    kept.parent.mkdir()
    open_to_it.mkdir()
    kept.write_text("secret")
    probe = [sys.executable, "-P", "-c", PROBE, str(kept), str(open_to_it)]
    said = subprocess.run(probe, capture_output=True, text=True, check=True).stdout.split()
    assert said[:4] == ["PermissionError"] * 4
    assert said[4:6] == ["OSError"] * 2
    assert said[6:] == ["PermissionError", said[7], "done", "done", "-1"]
    assert said[7] == ("PermissionError" if landlock_version() >= 6 else "done")
