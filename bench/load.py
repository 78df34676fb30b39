"""Load: chats at the pace of real ones, alone, and while hostile requests run beside them.

A model says the moment at which it speaks, five times a second, in 200 chats at once; each client
notes how late it heard it. Beside them eight clients, each from an address of its own, ask without
a pause for what costs most: a megabyte of braces to be read, and the page of a chat whose message
is 120 KB of brackets.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from statistics import quantiles
from time import monotonic
from typing import TypeAlias

from bench.serving import open_server
from bench.serving_app import PACE
from bench.timing import print_table

__all__ = ("main",)

CHATS = 200
HOSTILE = 8
MOST = 0.010
"""Seconds after which 99 of 100 events are there."""

_BRACES = json.dumps({"text": "{" * 1_000_000, "dialect": "hermes"}).encode()
_BRACKETS = "![" * 60_000
_Address: TypeAlias = tuple[str, int]


def main() -> None:
    """Print the table; events that come too late beside hostile requests end the program."""
    rows: list[list[str]] = []
    worst = 0.0
    with open_server("paced") as (_, address):
        for name, hostile in (("alone", 0), (f"beside {HOSTILE} hostile clients", HOSTILE)):
            late, answers, health = asyncio.run(_measure(address, hostile))
            percent = quantiles(late, n=100)
            worst = percent[98]
            told = ", ".join(f"{count} × {status}" for status, count in sorted(answers.items()))
            shown = [percent[49], worst, max(late), max(health)]
            rows.append([name, str(len(late)), *(f"{1000 * one:.1f}" for one in shown), told])
    title = (
        f"{CHATS} chats at {1 / PACE:g} events a second, on {os.cpu_count()} cores with a load of"
        f" {os.getloadavg()[0]:.1f}: milliseconds until an event is there"
    )
    columns = ["", "events", "median", "p99", "most", "health, most", "answers to hostile requests"]
    print_table(title, columns, rows)
    if worst > MOST:
        sys.exit(f"the 99th percentile is over {1000 * MOST:g} ms")


async def _measure(
    address: _Address, hostile: int
) -> tuple[list[float], Counter[int], list[float]]:
    """How late events were, what hostile clients were answered, and how long health took."""
    late, answers, health = list[float](), Counter[int](), list[float]()
    await _ask(address, "POST", "/api/chat", _message("brackets", _BRACKETS))
    beside = [asyncio.ensure_future(_attack(address, number, answers)) for number in range(hostile)]
    beside.append(asyncio.ensure_future(_check_health(address, health)))
    await asyncio.gather(*(_chat(address, number, hostile, late) for number in range(CHATS)))
    for task in beside:
        task.cancel()
    await asyncio.gather(*beside, return_exceptions=True)
    return late, answers, health


async def _chat(address: _Address, number: int, round: int, late: list[float]) -> None:
    # They do not all speak at the same moment.
    await asyncio.sleep(PACE * number / CHATS)
    reader, writer = await asyncio.open_connection(*address)
    _send(writer, "POST", "/api/chat", _message(f"chat-{round}-{number}", "Talk."))
    async for line in reader:
        if line.startswith(b"data: ") and b'"text-delta"' in line:
            now, said = monotonic(), json.loads(line[6:])["delta"].split()
            late.extend(now - float(one) for one in said)
    writer.close()


async def _attack(address: _Address, number: int, answers: Counter[int]) -> None:
    own = (f"127.0.0.{number + 2}", 0)
    while True:
        if number % 2:
            status = await _ask(address, "GET", "/api/timelines/brackets/page", b"", own)
        else:
            status = await _ask(address, "POST", "/api/parse", _BRACES, own)
        answers[status] += 1


async def _check_health(address: _Address, health: list[float]) -> None:
    while True:
        began = monotonic()
        await _ask(address, "GET", "/api/health", b"")
        health.append(monotonic() - began)
        await asyncio.sleep(PACE)


async def _ask(
    address: _Address, method: str, path: str, body: bytes, own: _Address | None = None
) -> int:
    reader, writer = await asyncio.open_connection(*address, local_addr=own)
    _send(writer, method, path, body)
    status = int((await reader.readline()).split()[1])
    while await reader.read(1 << 16):
        pass
    writer.close()
    return status


def _send(writer: asyncio.StreamWriter, method: str, path: str, body: bytes) -> None:
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)


def _message(chat: str, text: str) -> bytes:
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]}
    return json.dumps({"id": chat, "messages": [message]}).encode()


if __name__ == "__main__":
    main()
