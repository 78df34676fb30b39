"""A gateway in a process of its own, in front of a scripted upstream.

with ScriptedUpstream() as upstream, gateway(upstream, folder) as url: ...
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from support.scripted_upstream import DIALECTS, ScriptedUpstream

__all__ = ("Way", "bare_environment", "gateway", "gateway_config", "gateway_of")

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


class Way(msgspec.Struct, frozen=True):
    """The way of a client to a model: the address of a gateway, and the upstream behind it."""

    url: str
    upstream: ScriptedUpstream


def gateway_config(upstream: ScriptedUpstream, **settings: Any) -> str:
    """Return the file of a gateway that offers each model of an upstream by its own name.

    A model that writes JSON in code fences is one that was taught nothing that the gateway knows.
    """
    entries: list[str] = []
    for name in DIALECTS:
        fields: Mapping[str, Any] = {
            "address": f"{upstream.url}#{name}",
            "mode": "text",
            **({} if name == "json-fence" else {"dialect": name}),
            **settings,
        }
        lines = (f"{key} = {json.dumps(value)}" for key, value in fields.items())
        entries.append("\n".join((f"[models.{name}]", *lines)))
    return "\n\n".join((f'default = "{DIALECTS[0]}"', *entries)) + "\n"


@contextlib.contextmanager
def gateway(upstream: ScriptedUpstream, folder: Path, **settings: Any) -> Iterator[str]:
    """Start one; give its address without a path."""
    with gateway_of(gateway_config(upstream, **settings), folder) as url:
        yield url


@contextlib.contextmanager
def gateway_of(config: str, folder: Path) -> Iterator[str]:
    """Start one with the text of its file; give its address without a path."""
    home = folder / "home"
    home.mkdir()
    file = folder / "gateway.toml"
    file.write_text(config, "utf-8")
    command = [sys.executable, "-m", "callblocks", "proxy", "--port", "0"]
    with (
        (folder / "stderr").open("wb") as stderr,
        subprocess.Popen(
            command,
            env={
                **bare_environment(home),
                "CALLBLOCKS_GATEWAY": str(file),
                "PYTHONUNBUFFERED": "1",
            },
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        try:
            yield _address(process, folder)
        finally:
            process.terminate()
            assert process.stdout is not None
            process.stdout.read()


def _address(process: subprocess.Popen[str], folder: Path) -> str:
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        if found := _ADDRESS.search(line):
            return found[0]
        seen.append(line)
    said = (folder / "stderr").read_text("utf-8", "replace")
    raise AssertionError(f"the gateway ended: {''.join(seen)}{said}")


def bare_environment(home: Path) -> dict[str, str]:
    """Return an environment that says no more than where programs and a home are."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
