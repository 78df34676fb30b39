"""One gateway and one upstream for all clients that a process of pytest runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.gateway import Way, bare_environment, gateway
from support.scripted_upstream import ScriptedUpstream


@pytest.fixture(scope="session")
def _way(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    with (
        ScriptedUpstream() as upstream,
        gateway(upstream, tmp_path_factory.mktemp("gateway")) as url,
    ):
        yield Way(url, upstream)


@pytest.fixture
def way(_way: Way) -> Way:
    """The gateway, whose models call `run_command` until a test says otherwise."""
    _way.upstream.play_command()
    return _way


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Clients find nothing of this machine: no keys, no addresses, no proxies, no settings."""
    kept = bare_environment(tmp_path)
    for name in set(os.environ) - set(kept) - {"PYTEST_CURRENT_TEST"}:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", kept["HOME"])
