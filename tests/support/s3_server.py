"""An S3 server of this process, SeaweedFS from its wheel: real ranges, lists and uploads.

    with s3_bucket() as place: ...      # "s3://bucket-1/", and the environment that finds it

It starts once for each process that asks, on loopback, and ends with it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from unittest.mock import patch
from urllib.error import URLError
from urllib.request import Request, urlopen

__all__ = ("s3_bucket",)

_numbers = count(1)
_PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc"),
)


@contextmanager
def s3_bucket() -> Generator[str]:
    """The address of an empty bucket; the environment names the server while the block lasts."""
    name = f"bucket-{next(_numbers)}"
    with urlopen(Request(f"{_server()}/{name}", method="PUT")):
        pass
    values = {
        "AWS_ENDPOINT_URL": _server(),
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_REGION": "us-east-1",
        "AWS_SKIP_SIGNATURE": "true",
    }
    with patch.dict(os.environ, values):
        yield f"s3://{name}/"


@cache
def _server() -> str:
    """Start the server, and wait until it answers; a server that ends is a failure."""
    folder = tempfile.mkdtemp(prefix="s3-")
    ports = _free_ports(len(_PORTS))
    options = [f"-{name}={port}" for name, port in zip(_PORTS, ports, strict=True)]
    command = [
        str(Path(sys.executable).parent / "weed"),
        *("server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-filer"),
        # Each bucket takes seven volumes, which are small files until something is in them.
        *("-volume.max=500", "-master.volumeSizeLimitMB=64", *options),
        # Two more services that would listen on ports of their own.
        *("-s3.port.iceberg=0", "-s3.port.lance=0"),
    ]
    with open(os.path.join(folder, "log"), "wb") as log:
        # A Ctrl-C is for who started it.
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    atexit.register(_end, server, folder)
    address = f"http://127.0.0.1:{ports[_PORTS.index('s3.port')]}"
    while not _answers(address):
        with suppress(subprocess.TimeoutExpired):
            server.wait(0.1)
            raise RuntimeError(Path(folder, "log").read_text(errors="replace")[-2000:])
    return address


def _answers(address: str) -> bool:
    try:
        # It accepts connections before it can make buckets.
        with urlopen(Request(f"{address}/ready", method="PUT"), timeout=1):
            return True
    except (URLError, OSError):
        return False


def _free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in found]


def _end(server: subprocess.Popen[bytes], folder: str) -> None:
    server.kill()
    server.wait()
    shutil.rmtree(folder, ignore_errors=True)
