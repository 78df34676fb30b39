"""Runs of `callblocks` in forked processes: Python starts once.

    with serving(folder):
        subprocess.run("callblocks --version", shell=True, env={"PATH": str(folder)})

One process loads the command, and a small program `callblocks` in the folder passes its arguments,
environment, current folder and standard streams to it. The process forks, and the fork runs the
command as a new process would: by `main()`, with streams of its own. This is for tests that run
many commands. `tests/flows` start the real program.
"""

from __future__ import annotations

import atexit
import gc
import marshal
import os
import select
import socket
import subprocess
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

__all__ = ("serving",)

_READY = b"ready\n"
# It imports nothing that takes time: `socket` alone would take longer than all of this.
_CLIENT = """
import marshal, posix, sys
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket
request = marshal.dumps((sys.argv[2:], posix.getcwdb(), dict(posix.environ)))
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
server = socket(AF_UNIX, SOCK_STREAM)
server.connect(sys.argv[1])
server.sendmsg([len(request).to_bytes(4, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
server.sendall(request)
code = server.recv(1)
posix._exit(code[0] if code else 70)
"""


@contextmanager
def serving(folder: Path) -> Generator[None]:
    """Keep a process that runs what the program `callblocks` in the folder is asked for."""
    address, client, program = (folder / name for name in ("socket", "client.py", "callblocks"))
    client.write_text(_CLIENT, "utf-8")
    program.write_text(
        f"#!/bin/sh\nexec '{sys.executable}' -IS '{client}' '{address}' \"$@\"\n", "utf-8"
    )
    program.chmod(0o755)
    tests = Path(__file__).parents[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "support.fork_server", str(address)],
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": str(tests)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with server, server.stdin, server.stdout:
        assert server.stdout.readline() == _READY
        yield


def _serve(address: str) -> None:
    """Fork for each request, until standard input is closed."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        _load()
        gc.freeze()
        os.write(1, _READY)
        while 0 not in select.select([0, listener], [], [])[0]:
            _reap()
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    _answer(connection)


def _reap() -> None:
    """Take note of the forks that ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _load() -> None:
    """Import all commands, and prepare what reads text of any dialect."""
    from callblocks import parse
    from callblocks.cli.main import COMMANDS

    for place, _ in COMMANDS.values():
        import_module(place.partition(":")[0])
    for in_code_fences in (True, "whole"):
        parse("<", in_code_fences=in_code_fences)


def _answer(connection: socket.socket) -> None:
    """Run a command in this process, tell its exit code, and end."""
    os.setsid()
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as file:
        arguments, folder, environment = marshal.loads(file.read(int.from_bytes(size, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # The streams of the server were made for other files.
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(environment)
    sys.argv = ["callblocks", *arguments]
    code = _run()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    connection.sendall(bytes([code]))
    os._exit(0)


def _run() -> int:
    """Run the command; what it raises is told as Python tells it."""
    from callblocks.cli.main import main

    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    _serve(sys.argv[1])
