from __future__ import annotations

from collections.abc import Iterable, Iterator

import click
import pytest
from rich.console import Console

from callblocks.cli.terminal.paint import Paper, page
from callblocks.views.rows import Row

ROWS: list[Row] = [(("name", f"row {number}"),) for number in range(300)]


@pytest.fixture
def paged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the pager was given."""
    given: list[str] = []

    def take(texts: Iterable[str]) -> None:
        given.extend(texts)

    monkeypatch.setattr(click, "echo_via_pager", take)
    return given


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> Paper:
    """Paper with a person before it, who sees ten rows."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    paper = Paper()
    paper.terminal = True
    paper.console = Console(force_terminal=True, width=80, height=10, color_system="standard")
    return paper


def test_what_fits_is_printed(
    paper: Paper, paged: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    page(paper, ROWS[:9])
    assert paged == []
    assert "row 8" in capsys.readouterr().out


def test_what_is_longer_goes_to_the_pager_in_colours(paper: Paper, paged: list[str]) -> None:
    page(paper, ROWS)
    text = "".join(paged)
    assert "\x1b[1;36mrow 0" in text
    assert text.count("\n") == 300


def test_no_more_rows_are_made_than_are_looked_at(
    paper: Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def rows() -> Iterator[Row]:
        for number in range(10_000):
            made.append(number)
            yield (("plain", str(number)),)

    def glance(texts: Iterable[str]) -> None:
        next(iter(texts))

    monkeypatch.setattr(click, "echo_via_pager", glance)
    page(paper, rows())
    assert len(made) < 200


def test_without_a_terminal_it_is_plain_text(
    paged: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    page(Paper(), ROWS)
    assert paged == []
    assert capsys.readouterr().out == "".join(f"row {number}\n" for number in range(300))
