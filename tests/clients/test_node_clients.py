"""The npm clients run their tool by what a model wrote as text, on every wire."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command_tool import INPUT
from support.gateway import Way
from support.nodejs import node
from support.scripted_upstream import ANSWER, DIALECTS, LEAD

# The wires that the clients of a package speak.
CLIENTS = {
    "openai": ("chat", "responses"),
    "anthropic": ("messages",),
    "ai6": ("compatible",),
    "ai7": ("compatible", "chat", "responses", "messages"),
}
FOLDER = Path(__file__).parent.parent / "node"


@pytest.mark.parametrize("package", CLIENTS)
def test_a_package_runs_its_tool_and_gets_the_answer(way: Way, package: str) -> None:
    seen = json.loads(node("gateway-client.mjs", package, way.url, *DIALECTS, cwd=FOLDER))
    wanted = [
        {
            "client": client,
            "model": dialect,
            "streams": streams,
            "texts": [LEAD.strip(), ANSWER],
            "inputs": [INPUT],
            "error": "",
        }
        for client in CLIENTS[package]
        for dialect in DIALECTS
        for streams in (False, True)
    ]
    for row in seen:
        row["texts"] = [text.strip() for text in row["texts"]]
    assert seen == wanted
