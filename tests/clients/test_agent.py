"""An agent of the command line runs its own tool by what a model wrote as text.

The others are tried by `make test-clients`: each is hundreds of megabytes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.agents import AGENTS, run_agent
from support.gateway import Way
from support.nodejs import PACKAGES
from support.scripted_upstream import ANSWER, DIALECTS

AGENT = next(agent for agent in AGENTS if agent.name == "Continue")


def test_continue_runs_its_tool_and_prints_the_answer(way: Way, tmp_path: Path) -> None:
    way.upstream.play(AGENT.tool, **AGENT.input)

    def ask(dialect: str) -> str:
        return run_agent(AGENT, PACKAGES, way.url, dialect, tmp_path / dialect)

    with ThreadPoolExecutor(2) as pool:
        said = dict(zip(DIALECTS, pool.map(ask, DIALECTS), strict=True))
    for dialect, text in said.items():
        assert ANSWER in text, f"{dialect}: {text}"
