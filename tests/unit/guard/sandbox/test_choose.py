from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.sandbox import landlock as landlock_rights
from callblocks.guard.sandbox import launch_plan as identity
from callblocks.guard.sandbox import sandbox
from callblocks.guard.sandbox.sandbox import (
    Job,
    JobEnd,
    Missing,
    OnOutput,
    Sandbox,
    find_sandbox,
    forget_sandbox,
    require_sandbox,
)


@pytest.fixture(autouse=True)
def _asked_anew() -> Generator[None, None, None]:
    forget_sandbox()
    yield
    forget_sandbox()


def no_program(name: str, path: str | None = None) -> None:
    return None


def test_bubblewrap_comes_first_and_holds_all() -> None:
    found = asyncio.run(require_sandbox())
    assert found.name == "bubblewrap"
    everything = {"filesystem", "network", "syscalls", "processes", "uid", "memory", "disk"}
    assert set(found.holds) == everything
    assert asyncio.run(find_sandbox()) is found


def test_landlock_comes_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", no_program)
    found = asyncio.run(require_sandbox())
    assert found.name == "landlock"
    assert "disk" not in found.holds


@pytest.mark.parametrize(("version", "user"), [(0, 1_900_000_000), (2, 1_900_000_000), (7, None)])
def test_with_neither_the_way_out_is_said(
    monkeypatch: pytest.MonkeyPatch, version: int, user: int | None
) -> None:
    monkeypatch.setattr(shutil, "which", no_program)
    monkeypatch.setattr(landlock_rights, "landlock_version", lambda: version)
    monkeypatch.setattr(identity, "stranger", lambda: user)
    with pytest.raises(ToolError, match="apt-get install bubblewrap") as raised:
        asyncio.run(require_sandbox())
    assert raised.value.code == "sandbox_unavailable"
    assert "not installed" in raised.value.message


@pytest.mark.parametrize("program", ["#!/bin/sh\nexit 1\n", "not a program"])
def test_a_bubblewrap_that_lacks_options_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str
) -> None:
    old = tmp_path / "bwrap"
    old.write_text(program)
    old.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: str(old))
    monkeypatch.setattr(identity, "stranger", lambda: None)
    found = asyncio.run(find_sandbox())
    assert isinstance(found, Missing)
    assert "--seccomp" in found.reason


def test_an_unknown_machine_has_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.uname()
    other = os.uname_result((*real[:4], "riscv64"))
    monkeypatch.setattr(os, "uname", lambda: other)
    found = asyncio.run(find_sandbox())
    assert isinstance(found, Missing)
    assert "riscv64" in found.reason


class Pretender:
    """A sandbox that only says that it is one."""

    name = "pretender"
    holds = ("filesystem",)

    def __init__(self, said: bytes, code: int = 0, *, leaks: bool = False) -> None:
        self._said, self._code, self._leaks = said, code, leaks

    async def run(self, job: Job, on_output: OnOutput | None = None) -> JobEnd:
        assert on_output is not None
        on_output("stdout", Path(job.argv[-1]).read_bytes() if self._leaks else b"")
        on_output("stdout", self._said)
        return JobEnd(exit_code=self._code)


@pytest.mark.parametrize(
    ("pretender", "word"),
    [
        (Pretender(b"works", leaks=True), "apart"),
        (Pretender(b"works", 1), "ended with 1"),
        (Pretender(b"nothing"), "nothing"),
        (Pretender(b"works"), "did not come out"),
    ],
)
def test_a_sandbox_that_does_not_hold_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, pretender: Sandbox, word: str
) -> None:
    def only() -> Iterator[Sandbox | Missing]:
        yield pretender

    monkeypatch.setattr(sandbox, "candidates", only)
    found = asyncio.run(find_sandbox())
    assert isinstance(found, Missing)
    assert word in found.reason


@pytest.mark.parametrize(
    ("ranges", "low", "high"),
    [
        ([(0, 2**32 - 1)], 1_900_000_000, 2_100_000_000),
        ([(0, 1), (1, 65_536)], 32_000, 65_536),
        ([(0, 65_536)], 32_768, 65_535),
    ],
)
def test_a_stranger_is_a_user_whom_nobody_else_is(
    ranges: list[tuple[int, int]], low: int, high: int
) -> None:
    chosen = {identity.choose_user(ranges) for _ in range(20)}
    assert len(chosen) > 1
    assert all(user is not None and low <= user <= high for user in chosen)


def test_where_root_is_the_only_user_there_is_no_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    assert identity.choose_user([(0, 1)]) is None
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert identity.stranger() is None
