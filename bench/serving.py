"""Streams: a turn for each of many clients, beside a bare Starlette application that sends as much.

Both are processes of their own with one event loop. The bare one sends the same events, each made
of a dictionary and sent as it comes; ours asks a model, reads its text, writes a timeline and keeps
every event for whoever comes later. Every client checks that it got all of its text, in order.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from typing import TypeAlias

import psutil

from bench.serving_app import WORDS, reply_text
from bench.timing import print_table

__all__ = ("main", "open_server")

STREAMS = 200
ROUNDS = 5
LEAST = 0.6
"""What a turn may cost in processor time: so much of it the bare application takes at least."""

_Address: TypeAlias = tuple[str, int]


def main() -> None:
    """Print the table; a ratio of processor time that is too small ends the program."""
    rates: dict[str, list[float]] = {"turns": [], "bare": []}
    times: dict[str, list[float]] = {"turns": [], "bare": []}
    memory: dict[str, float] = {}
    with open_server("turns") as ours, open_server("bare") as bare:
        for at in range(ROUNDS + 1):
            for kind, (process, address) in (("turns", ours), ("bare", bare)):
                before = _processor(process)
                rate = asyncio.run(_load(kind, address, at))
                # The first round warms both up.
                if at:
                    rates[kind].append(rate)
                    times[kind].append(_processor(process) - before)
                memory[kind] = max(memory.get(kind, 0), process.memory_info().rss / 1e6)
    ratio, events = min(times["bare"]) / min(times["turns"]), STREAMS * (WORDS + 2)
    rows = [
        [
            name,
            f"{median(rates[kind]):,.0f}",
            f"{min(times[kind]) / events * 1e6:.1f}",
            f"{memory[kind]:,.0f} MB",
        ]
        for name, kind in (("callblocks serve", "turns"), ("bare Starlette", "bare"))
    ]
    title = f"{STREAMS} streams at once, {WORDS + 2:,} events each"
    head = ["server", "events/s", "processor µs an event", "memory"]
    print_table(title, head, [*rows, ["ratio", "", f"{ratio:.2f}", ""]])
    if ratio < LEAST:
        sys.exit(f"the ratio is less than {LEAST}")


def _processor(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


@contextmanager
def open_server(kind: str) -> Generator[tuple[psutil.Process, _Address], None, None]:
    """Start one of the servers; give its process and where it is."""
    command = [sys.executable, "-m", "bench.serving_app", kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            port = int(child.stdout.readline())
            yield psutil.Process(child.pid), ("127.0.0.1", port)
        finally:
            child.terminate()


async def _load(kind: str, address: _Address, at: int) -> float:
    """Events a second, over all streams."""
    began = perf_counter()
    counts = await asyncio.gather(
        *(_stream(kind, address, f"{at}-{number}") for number in range(STREAMS))
    )
    return sum(counts) / (perf_counter() - began)


async def _stream(kind: str, address: _Address, name: str) -> int:
    reader, writer = await asyncio.open_connection(*address, limit=1 << 20)
    part = {"type": "text", "text": "Talk."}
    message = {"id": "m1", "role": "user", "parts": [part]}
    body = json.dumps({"id": f"{kind}-{name}", "messages": [message]}).encode()
    head = (
        f"POST /api/chat HTTP/1.1\r\nhost: {address[0]}:{address[1]}\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    text: list[str] = []
    count = 0
    async for line in reader:
        if not line.startswith(b"data: "):
            continue
        count += 1
        if b'"text-delta"' in line:
            text.append(json.loads(line[6:])["delta"])
    writer.close()
    await writer.wait_closed()
    got = "".join(text)
    assert got == reply_text(), f"{name} got {len(got)} of {len(reply_text())} characters"
    return count


if __name__ == "__main__":
    main()
