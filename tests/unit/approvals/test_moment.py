from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.approvals import book as moment


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    moment.boot_id.cache_clear()
    yield
    moment.boot_id.cache_clear()


def test_the_steady_clock_never_goes_back() -> None:
    times = [moment.steady_time() for _ in range(100)]
    assert times == sorted(times)


def test_the_steady_clock_counts_sleep_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(time, "clock_gettime", lambda clock: asked.append(clock) or 5.0)
    monkeypatch.setattr(moment, "_AWAKE_AND_ASLEEP", 77)
    assert (moment.steady_time(), asked) == (5.0, [77])


def test_without_such_a_clock_the_steady_one_is_the_monotonic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(moment, "_AWAKE_AND_ASLEEP", None)
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)
    assert moment.steady_time() == 7.0


def test_linux_has_a_clock_that_counts_sleep() -> None:
    assert getattr(time, "CLOCK_BOOTTIME", None) == moment._AWAKE_AND_ASLEEP


def test_a_start_of_the_machine_has_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "boot_id"
    path.write_text("abc\n", encoding="ascii")
    assert moment._BOOT_ID == "/proc/sys/kernel/random/boot_id"
    monkeypatch.setattr(moment, "_BOOT_ID", str(path))
    assert moment.boot_id() == "abc"
    path.unlink()
    assert moment.boot_id() == "abc"


def test_a_start_without_a_name_is_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(moment, "_BOOT_ID", str(tmp_path / "none"))
    assert moment.boot_id() == ""
