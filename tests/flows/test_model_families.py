"""A model of every family calls a tool by default settings, whatever its server makes of the call.

`docs/model-families.md` shows the results; `pytest --accept` writes them there.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from callblocks.core.events import (
    Malformed,
    Problem,
    TurnEnded,
)
from support.family_runs import Cell, chat_cell, chat_events, outcomes_of, serve_cells
from support.family_server import MISBEHAVIOURS, MODES, TOOL, FamilyServer, Mode
from support.model_events import read_events
from support.model_families import FAMILIES, Family
from support.pages import ROOT

PAGE = ROOT / "docs" / "model-families.md"
PLACE = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- results end -->)", re.DOTALL)
WAYS = ("chat", "serve")
DEVSTRAL = next(family for family in FAMILIES if family.title == "Devstral")


class Runs:
    """Turns with models of all families. Each mode has one server, started when it is needed."""

    def __init__(self, workspace: Path, stack: ExitStack) -> None:
        self._workspace, self._stack = workspace, stack
        self._servers: dict[Mode, FamilyServer] = {}
        self._serving: dict[Mode, Callable[[Family], Cell]] = {}

    def chat(self, family: Family, mode: Mode) -> Cell:
        """Play a turn of `callblocks chat`."""
        return chat_cell(self._server(mode), family, self._workspace)

    def serve(self, family: Family, mode: Mode) -> Cell:
        """Play a turn of `callblocks serve`."""
        if mode not in self._serving:
            cells = serve_cells(self._server(mode), self._workspace)
            self._serving[mode] = self._stack.enter_context(cells)
        return self._serving[mode](family)

    def _server(self, mode: Mode) -> FamilyServer:
        if mode not in self._servers:
            self._servers[mode] = self._stack.enter_context(FamilyServer(mode))
        return self._servers[mode]


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
def runs(workspace: Path) -> Iterator[Runs]:
    with ExitStack() as stack:
        yield Runs(workspace, stack)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_a_call_runs_in_a_chat_by_default_settings(family: Family, mode: Mode, runs: Runs) -> None:
    """A native call arrives as one, and a call in the text in a dialect."""
    cell = runs.chat(family, mode)
    assert cell.problem == ""
    assert cell.dialect != ""
    assert (cell.dialect == "native") == (mode == "native")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_a_call_runs_on_a_server_by_default_settings(
    family: Family, mode: Mode, runs: Runs
) -> None:
    assert runs.serve(family, mode).problem == ""


def test_the_page_shows_the_results(request: pytest.FixtureRequest) -> None:
    """The page says that each call runs; a call that does not run fails its own test."""
    page = PAGE.read_text("utf-8")
    now = PLACE.sub(lambda _: f"\n{_table()}\n\n", page)
    if request.config.getoption("--accept"):
        PAGE.write_text(now, "utf-8")
    assert now == PAGE.read_text("utf-8"), f"run: pytest --accept {__file__}"


def _table() -> str:
    heads = [f"{mode}, {way}" for mode in MODES for way in WAYS]
    lines = [
        f"| family | model | server | dialect | {' | '.join(heads)} |",
        "|---" * (4 + len(heads)) + "|",
    ]
    for family in FAMILIES:
        about = [family.title, f"`{family.model}`", family.server, f"`{family.dialect}`"]
        lines.append(f"| {' | '.join([*about, *['runs'] * len(heads)])} |")
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
            assert told or ended.code or read_events(events, Malformed, Problem)
