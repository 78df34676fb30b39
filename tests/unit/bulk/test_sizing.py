"""The page on sizing says what its formula makes of what was measured."""

from __future__ import annotations

import sys

import msgspec
import pytest

from support.pages import ROOT

sys.path.append(str(ROOT))

from bench.sizing import Measured, estimate, rows

MEASURED = msgspec.json.decode((ROOT / "docs" / "sizing.json").read_bytes(), type=Measured)
PAGE = (ROOT / "docs" / "sizing.md").read_text("utf-8")


def test_the_table_of_the_page_follows_from_what_was_measured() -> None:
    for row in rows(MEASURED):
        assert f"| {' | '.join(row)} |" in PAGE


def test_the_formula_is_the_one_of_the_page() -> None:
    assert estimate.__doc__ is not None
    formula = [line.strip() for line in estimate.__doc__.splitlines() if " = " in line]
    assert len(formula) == 5
    assert all(line in PAGE for line in formula)


def test_the_simulation_lost_nothing_and_stopped_one_server_alone() -> None:
    assert MEASURED.lost == 0
    assert MEASURED.timelines == 1_000_000
    assert MEASURED.others_done + MEASURED.dead_refused == MEASURED.turns // 2


def test_twice_the_users_need_twice_as_much() -> None:
    one, two = estimate(MEASURED, 1_000_000), estimate(MEASURED, 2_000_000)
    assert two.gigabytes_a_day == pytest.approx(2 * one.gigabytes_a_day)
    assert two.worker_cores == pytest.approx(2 * one.worker_cores)
