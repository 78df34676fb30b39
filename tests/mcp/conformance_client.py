"""Our client, as the conformance checks start it: `conformance_client.py URL`.

It connects, calls every tool that it finds, and says yes to what is asked. A sign-in opens the
address as a browser would.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Answer, Question
from callblocks.core.calls import Call
from callblocks.policy.policy import Policy
from callblocks.protocols.mcp.http_transport import BrowserSignIn
from callblocks.protocols.mcp.server_link import McpServers
from callblocks.protocols.mcp.servers import OAuth, ServerEntry
from callblocks.runtime.gate import Approving
from callblocks.runtime.runtime import Runtime
from callblocks.tools.registry import Registry

_VALUES = {"number": 2, "integer": 2, "string": "x", "boolean": True}


async def _yes(question: Question) -> Answer:
    return Answer("once")


def _open(url: str) -> None:
    def visit() -> None:
        httpx2.get(url, follow_redirects=True, trust_env=False)

    threading.Thread(target=visit, daemon=True).start()


def _sign_in_host(url: str) -> tuple[str, ...]:
    """The address that signs in, which is another port of this machine here."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    challenge = httpx2.post(url, json={}, trust_env=False).headers.get("www-authenticate", "")
    named = challenge.partition('resource_metadata="')[2].partition('"')[0]
    known = "/.well-known/oauth-protected-resource"
    for place in (named, f"{origin}{known}{parts.path}", f"{origin}{known}"):
        answer = httpx2.get(place, trust_env=False) if place else None
        if answer is not None and answer.status_code == 200:
            servers = answer.json().get("authorization_servers") or [origin]
            return (urlsplit(servers[0]).netloc,)
    return ()


def main(url: str) -> int:
    signs_in = os.environ.get("MCP_CONFORMANCE_SCENARIO", "").startswith("auth/")
    allow = _sign_in_host(url) if signs_in else ()
    # What a check wants known beforehand: an id and a secret, for a client that signs in by itself.
    known = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    os.environ["CHECKED_SECRET"] = known.get("client_secret", "")
    given = OAuth(client_id=known.get("client_id", ""), client_secret_env="CHECKED_SECRET")
    oauth = given if known.get("client_secret") else signs_in
    entry = ServerEntry(name="checked", url=url, oauth=oauth, allow=allow, timeout=20)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        servers = McpServers([entry], state, sign_in=BrowserSignIn(_open, 10) if signs_in else None)
        report = servers.test("checked")
        if report.fault:
            sys.stderr.write(f"{report.fault}\n")
            servers.close()
            return 1
        with ApprovalBook(state / "approvals.sqlite") as book:
            asyncio.run(_call_all(servers, book))
        servers.close()
    return 0


async def _call_all(servers: McpServers, book: ApprovalBook) -> None:
    tools = servers.tools()
    runtime = Runtime(Registry(tools), Policy.ask_all(), approving=Approving(book, _yes))
    calls = [
        Call(id=f"c{at}", name=tool.name, input=_input(tool.spec.properties))
        for at, tool in enumerate(tools)
    ]
    async for outcome in runtime.run(calls):
        sys.stderr.write(f"{outcome}\n")


def _input(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: _VALUES.get(schema.get("type"), "x") for name, schema in properties.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
