"""A model of every family calls a tool by default settings, whatever its server makes of the call.

`docs/model-families.md` shows the results; `pytest --accept` writes them there.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from callblocks.model.turn_events import CallBroken, TurnEnded
from support.family_runs import Cell, chat_cell, chat_events, outcomes_of, serve_cells
from support.family_server import MISBEHAVIOURS, MODES, TOOL, FamilyServer, Mode
from support.model_families import FAMILIES, Family
from support.pages import ROOT

PAGE = ROOT / "docs" / "model-families.md"
PLACE = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- results end -->)", re.DOTALL)
WAYS = ("chat", "serve")
DEVSTRAL = next(family for family in FAMILIES if family.title == "Devstral")


class Key(NamedTuple):
    """A cell of the table."""

    title: str
    mode: Mode
    way: str


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("families")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALLBLOCKS_HOME", str(folder / "state"))
        patch.setenv("CALLBLOCKS_MODEL_KEY", "")
        place = folder / "workspace"
        place.mkdir()
        yield place


@pytest.fixture(scope="module")
def results(workspace: Path) -> Mapping[Key, Cell]:
    """All cells; each mode has one server."""
    cells: dict[Key, Cell] = {}
    for mode in MODES:
        with FamilyServer(mode) as server:
            for family in FAMILIES:
                cells[Key(family.title, mode, "chat")] = chat_cell(server, family, workspace)
            for title, cell in serve_cells(server, workspace).items():
                cells[Key(title, mode, "serve")] = cell
    return cells


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_a_call_runs_by_default_settings(
    family: Family, mode: Mode, way: str, results: Mapping[Key, Cell]
) -> None:
    assert results[Key(family.title, mode, way)].problem == ""


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_a_native_call_arrives_as_one(family: Family, results: Mapping[Key, Cell]) -> None:
    assert results[Key(family.title, "native", "chat")].dialect == "native"
    for mode in ("text", "mixed"):
        assert results[Key(family.title, mode, "chat")].dialect not in ("", "native")


def test_the_page_shows_the_results(
    results: Mapping[Key, Cell], request: pytest.FixtureRequest
) -> None:
    page = PAGE.read_text("utf-8")
    now = PLACE.sub(lambda _: f"\n{_table(results)}\n\n", page)
    if request.config.getoption("--accept"):
        PAGE.write_text(now, "utf-8")
    assert now == PAGE.read_text("utf-8"), f"run: pytest --accept {__file__}"


def _table(results: Mapping[Key, Cell]) -> str:
    heads = [f"{mode}, {way}" for mode in MODES for way in WAYS]
    lines = [
        f"| family | model | server | dialect | {' | '.join(heads)} |",
        "|---" * (4 + len(heads)) + "|",
    ]
    for family in FAMILIES:
        keys = [Key(family.title, mode, way) for mode in MODES for way in WAYS]
        cells = ["no" if results[key].problem else "runs" for key in keys]
        about = [family.title, f"`{family.model}`", family.server, f"`{family.dialect}`"]
        lines.append(f"| {' | '.join([*about, *cells])} |")
    return "\n".join(lines)


RUN_ONCE = ("arguments as an object", "both forms")
RUN_TWICE = ("ids twice", "no index", "two calls in alternating bits")
# Any other misbehaviour runs nothing. A huge argument passes the limit of a reply's text.


@pytest.mark.parametrize("how", MISBEHAVIOURS)
def test_a_call_that_goes_wrong_has_one_outcome_and_runs_at_most_once(
    how: str, workspace: Path
) -> None:
    with FamilyServer("native") as server:
        server.misbehave(how)
        events = asyncio.run(chat_events(server, DEVSTRAL, workspace))
        outcomes = outcomes_of(events)
        ran = [outcome.name for outcome in outcomes if outcome.error is None]
        wanted = {**dict.fromkeys(RUN_ONCE, 1), **dict.fromkeys(RUN_TWICE, 2)}.get(how, 0)
        assert ran == [TOOL] * wanted
        assert len({outcome.id for outcome in outcomes}) == len(outcomes)
        # What did not run, the person is told of: as an outcome, a broken call or the turn's end.
        if not ran:
            ended = events[-1]
            assert isinstance(ended, TurnEnded)
            told = [one.error for one in outcomes if one.error]
            assert told or ended.code or any(isinstance(one, CallBroken) for one in events)
