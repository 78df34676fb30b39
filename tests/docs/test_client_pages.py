"""The pages of clients: their Python runs, and their files are those that the agents ran with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.agents import AGENTS, Agent
from support.gateway import bare_environment, gateway
from support.pages import ROOT, code_blocks
from support.scripted_upstream import TITLE, ScriptedUpstream

FOLDER = ROOT / "docs" / "clients"
ADDRESS, MODEL = "http://127.0.0.1:8787", "qwen3-coder"
# The packages of these are no part of the tests: `make test-clients` has them.
NOT_HERE = ("langchain", "litellm", "openai-agents")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ScriptedUpstream() as upstream:
        upstream.play("no-such-tool")
        with gateway(upstream, tmp_path_factory.mktemp("gateway")) as url:
            yield url


def _programs() -> dict[str, str]:
    return {
        page.stem: block.text
        for page in sorted(FOLDER.glob("*.md"))
        for block in code_blocks(page.read_text("utf-8"))
        if block.language == "py"
    }


@pytest.mark.parametrize("name", sorted({*_programs()} - {*NOT_HERE}))
def test_python_of_a_page_gets_an_answer(url: str, name: str, tmp_path: Path) -> None:
    program = _programs()[name].replace(ADDRESS, url)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=bare_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{TITLE}\n", done.stderr


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_a_page_shows_what_an_agent_ran_with(agent: Agent) -> None:
    page = (FOLDER / f"{agent.name.lower().replace(' ', '-')}.md").read_text("utf-8")
    blocks = [*code_blocks(page)]
    for name, written in agent.files.items():
        (shown,) = [block.text for block in blocks if block.language == Path(name).suffix[1:]]
        file = written.replace("{url}", ADDRESS).replace("{model}", MODEL)
        if name.endswith(".json"):
            read, ran = json.loads(shown), json.loads(file)
            assert read == {key: ran[key] for key in read}
        else:
            assert shown.strip() == file.strip()
    commands = " ".join(block.text for block in blocks if block.language == "sh")
    for name, value in agent.variables.items():
        filled = value.replace("{url}", ADDRESS).replace("{model}", MODEL)
        assert f"{name}={filled}" in commands or "{" not in value, name
    for word in agent.before:
        assert word.replace("{url}", ADDRESS).replace("{model}", MODEL) in commands


def test_every_client_has_a_page_that_is_listed() -> None:
    listed = (ROOT / "docs" / "tasks" / "connect-clients.md").read_text("utf-8")
    assert [page.name for page in FOLDER.glob("*.md") if f"/{page.name})" not in listed] == []
