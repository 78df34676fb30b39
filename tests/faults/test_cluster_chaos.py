"""A minute of random kills and stops: the short run of `python -m bench.cluster chaos`."""

from __future__ import annotations

import sys

import pytest

from support.pages import ROOT

sys.path.append(str(ROOT))

from bench.cluster import chaos


def test_every_promise_holds_under_random_kills_and_stops(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # How soon a turn is taken over is measured where nothing else runs.
    chaos(kills=6, stops=2, clients=2, takeover=60)
    report = capsys.readouterr().out
    assert "kill -9, SIGSTOP" in report
