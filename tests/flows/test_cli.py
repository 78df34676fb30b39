"""The command as a process: text that comes slowly, readers that go, people who interrupt."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

from support.terminals import drain, terminal, until

COMMAND = [sys.executable, "-m", "callblocks"]
PLAIN = {name: value for name, value in os.environ.items() if "COLOR" not in name}
FENCE = ["Hello.\n", "```tool ls c1\n", "input: {path: src}\n", "```\n", "Bye.\n"]
CAT = [
    '[{"type": "custom", "id": "c1", ',
    '"operation": "x", "parameters": {}}]\n',
    "✂️🐱\n",
    "Hi!\n",
]
TAGS = ["Hello. ", '<tool id="c1">ls(path=src)', "\na.py", "</tool>", " Bye."]
BRACKETS = ["Hello. ", "🛠️[ls src]\n", "more ", "🛠️[/end]", " Bye."]


@contextmanager
def started(
    *args: str,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    env: dict[str, str] = PLAIN,
    by: Sequence[str] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [*by, *COMMAND, *args], stdin=subprocess.PIPE, stdout=stdout, stderr=stderr, env=env
    )
    # What waits for words that never come gets an end of file instead.
    patience = threading.Timer(60, process.kill)
    patience.start()
    with process:
        try:
            yield process
        finally:
            patience.cancel()
            process.kill()


def write(process: subprocess.Popen[bytes], piece: str) -> None:
    assert process.stdin is not None
    process.stdin.write(piece.encode())
    process.stdin.flush()


def read_event(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The next line; it does not come if the command waits for more text."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize("auto", [False, True], ids=["named", "auto"])
@pytest.mark.parametrize(
    ("dialect", "pieces", "last"),
    [
        # After which piece the call is ready, and with which event that piece's line begins.
        ("tool-fence", FENCE, 3),
        ("scissors-cat", CAT, 2),
        ("chat-blocks", TAGS, 3),
        ("emoji-bracket", BRACKETS, 3),
    ],
)
def test_an_event_is_there_before_the_next_piece_is_written(
    dialect: str, pieces: list[str], last: int, auto: bool
) -> None:
    with started("parse", "--json", "--dialect", "auto" if auto else dialect) as process:
        for piece in pieces[: last + 1]:
            write(process, piece)
        event = read_event(process)
        while event["type"] != "call-ready":
            event = read_event(process)
        assert event["call"]["dialect"] == dialect


@pytest.mark.parametrize("dialect", ["tool-fence", "chat-blocks", "emoji-bracket", "auto"])
def test_prose_is_there_before_the_next_piece_is_written(dialect: str) -> None:
    with started("parse", "--json", "--dialect", dialect) as process:
        for piece in ["So ", "it ", "goes "]:
            write(process, piece)
            assert read_event(process)["text"].strip() == piece.strip()


def test_input_is_there_while_its_block_is_open() -> None:
    with started("parse", "--json") as process:
        write(process, "🛠️[write a.txt]\n")
        assert read_event(process)["type"] == "call-started"
        write(process, "some words ")
        event = read_event(process)
        while not event["text"]:
            event = read_event(process)
        assert event["text"].startswith("some words")


def test_a_listing_grows_with_the_text() -> None:
    with started("parse") as process:
        assert process.stdout is not None
        write(process, "One line.\n🛠️[ls]🛠️[/end]")
        assert process.stdout.readline().decode().strip() == "1  prose    One line."
        assert b"call     ls" in process.stdout.readline()


# As a shell without job control starts what it puts into the background.
IGNORING = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh")


@pytest.mark.parametrize(
    ("command", "by"), [("parse", ()), ("show", ()), ("convert", ()), ("parse", IGNORING)]
)
def test_an_interrupt_is_one_line(command: str, by: Sequence[str]) -> None:
    more = ["--to", "tool-fence"] if command == "convert" else []
    with started(command, *more, by=by) as process:
        write(process, "It has begun.\nAnd it goes on.")
        if command == "convert":
            _wait_until_it_reads(process)
        else:
            assert process.stdout is not None
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        assert said == b"callblocks: interrupted\n"
        assert process.returncode == 130


def test_a_reader_that_goes_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("🛠️[ls]🛠️[/end] and so on\n" * 20_000, "utf-8")
    for mode in ([], ["--json"], ["--explain"]):
        with started("parse", *mode, str(path)) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr is not None
            assert process.stderr.read() == b""
            assert process.wait() == 141


def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [*COMMAND, "dialects"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert result.returncode == 2
    assert result.stderr == b"callblocks: standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("closed", "said"), [("<&-", "standard input is closed"), (">&-", "standard output is closed")]
)
def test_a_closed_stream_is_one_line(closed: str, said: str) -> None:
    line = f'"$0" -m callblocks parse {closed}'
    result = subprocess.run(
        ["sh", "-c", line, sys.executable], capture_output=True, check=False, text=True
    )
    assert (result.returncode, result.stderr) == (2, f"callblocks: {said}\n")


def test_a_narrow_encoding_does_not_stop_it() -> None:
    result = subprocess.run(
        [*COMMAND, "show"],
        input="<tool>ls()\nä</tool>".encode(),
        env={**PLAIN, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0
    assert result.stdout == b"? ls (show details)\n"


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys, atexit\n"
        "heavy = {'rich', 'yaml', 'msgspec', 'callblocks.dialects.tool_fence'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules))))\n"
        "sys.argv = ['callblocks', '--help']\n"
        "from callblocks.cli.main import main\n"
        "main()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert result.stdout.endswith("\n[]\n")


def test_a_chat_grows_on_a_terminal() -> None:
    """The count rises with each call; ⏳ gives way to the result, in place."""
    with (
        terminal(rows=30, columns=80) as (ours, theirs),
        started("show", "--expand", stdout=theirs, stderr=theirs) as process,
    ):
        write(process, "Look:\n🛠️[ls src]\n🛠️[/end]\n")
        first = until(ours, "⏳")
        assert "🔧 \x1b[1;36mls" in first
        write(process, "🛠️[cat a.py]\n")
        assert "2 tool calls" in until(ours, "cat(…)")
        write(process, "🛠️[/end]\n🛠️[/result 1]\na.py\n🛠️[/end]\n")
        assert "\x1b[1A" in until(ours, "a.py\x1b[0m")
        assert process.stdin is not None
        process.stdin.close()
        until(ours, "cat(args=a.py)")
        assert process.wait() == 0


def test_no_color_leaves_the_colours_out() -> None:
    with terminal(rows=30, columns=80) as (ours, theirs):
        env = {**PLAIN, "NO_COLOR": "1"}
        with started("parse", stdout=theirs, env=env) as process:
            write(process, "🛠️[ls]🛠️[/end]\n")
            assert "\x1b[36m" not in until(ours, "emoji-bracket")


def test_a_long_file_shows_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("and so on\n" * 600_000, "utf-8")
    with terminal(rows=30, columns=80) as (ours, theirs):
        args = ("parse", "--json", str(path))
        with started(*args, stdout=subprocess.DEVNULL, stderr=theirs) as process:
            assert "MB" in until(ours, "MB")
            drain(ours, process)
            assert process.wait() == 0


def _wait_until_it_reads(process: subprocess.Popen[bytes]) -> None:
    """Until a pipe is empty, whoever reads it has not come to wait for more."""
    assert process.stdin is not None
    left = struct.pack("i", 1)
    while struct.unpack("i", left)[0]:
        left = ioctl(process.stdin, termios.FIONREAD, left)
