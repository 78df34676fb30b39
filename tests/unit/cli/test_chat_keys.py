from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.terminals import in_terminal

PROGRAM = """
import termios
from callblocks.cli.chat.chat_screen import echoing

def is_shown():
    return bool(termios.tcgetattr(0)[3] & termios.ECHO)

found = [is_shown()]
try:
    with echoing(False):
        found.append(is_shown())
        with echoing(True):
            found.append(is_shown())
        found.append(is_shown())
        raise KeyError
except KeyError:
    found.append(is_shown())
print(found, "end")
"""


def test_keys_are_silent_and_shown_at_a_question_and_then_as_before(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", PROGRAM]
    with in_terminal(argv, cwd=tmp_path, env=dict(os.environ)) as terminal:
        assert "[True, False, True, False, True]" in terminal.until("end")
        assert terminal.wait() == 0


def test_without_a_terminal_nothing_is_done() -> None:
    program = (
        "from callblocks.cli.chat.chat_screen import echoing\nwith echoing(False): print('fine')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, start_new_session=True, check=True
    )
    assert done.stdout == b"fine\n"
