"""The nginx of this machine, or the one that scripts/setup put beside the packages.

with nginx(folder, server_block): ...
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path

__all__ = ("nginx",)

_PLACES = (Path(sys.prefix) / "nginx" / "usr" / "sbin" / "nginx", Path("/usr/sbin/nginx"))

_FRAME = """
{user}
pid nginx.pid;
error_log error.log;
worker_processes 1;
events {{}}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
{server}
}}
"""


@contextmanager
def nginx(folder: Path, server: str) -> Generator[None]:
    """Run a `server` block; what nginx complains of fails the test."""
    # Started by root, its worker would be somebody else, who cannot enter the folder.
    user = f"user {getuser()};" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(_FRAME.format(user=user, server=server))
    known = shutil.which("nginx") or next((os.fspath(one) for one in _PLACES if one.exists()), "")
    assert known, "run scripts/setup first"
    command = [known, "-e", "error.log", "-p", os.fspath(folder), "-c", "nginx.conf"]
    # It goes into the background once it listens.
    subprocess.run(command, cwd=folder, check=True, timeout=20)
    try:
        yield
    finally:
        os.kill(int((folder / "nginx.pid").read_text()), signal.SIGTERM)
    assert (folder / "error.log").read_text() == ""
