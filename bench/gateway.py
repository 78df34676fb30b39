"""The gateway beside LiteLLM's proxy, Toolify and a bare Starlette pass-through.

    python -m bench.gateway

All stand before the same upstream, whose pieces are moments of its clock: how much later a piece
comes than without anything in between is what a server adds. Other programs of this machine add to
that. So the upstream, the pass-through and the gateway take turns, a few seconds each. Of each turn
the median of every quarter of a second is taken, and the least of them all counts: what a server
adds when nothing else runs. "work" is the processor time that a server takes for a piece. The first
byte is that of the reply's text: what comes before it says nothing. Requests declare a tool, so
that each server does its work on the text.

LiteLLM is installed once into `~/.cache/callblocks/bench-peers`. Toolify is on no package index:
it is measured where its files lie in `toolify` there.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any, TypeAlias

import msgspec
import psutil

from bench.gateway_app import FAST_PIECES, PACED_PIECES
from bench.timing import print_table

__all__ = ("main",)

CACHE = Path.home() / ".cache" / "callblocks" / "bench-peers"
LITELLM = "1.83.0"
STREAMS = 200
FAST_STREAMS = 50
ROUNDS = 2
TURNS = 10
"""How often the upstream, the pass-through and the gateway are measured; the peers take fewer."""
SLOT = 0.25
"""Seconds whose median is one measurement, if there are enough samples in them."""
ENOUGH = 20
SPREAD = 2.0
"""Seconds over which the streams begin."""
FIRST_BOUND, PIECE_BOUND = 5.0, 0.2
"""The most milliseconds that the gateway may add to the first byte and to a piece, on the clock."""
_STAMP = re.compile(r"(\d+\.\d{6});")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tell the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


Sample: TypeAlias = tuple[float, float]
"""A moment, and the seconds that something took then."""


class Delays(msgspec.Struct, frozen=True):
    """Milliseconds to the first byte, and of a piece from the upstream to the client."""

    first: float
    piece: float

    def best(self, other: Delays) -> Delays:
        return Delays(min(self.first, other.first), min(self.piece, other.piece))


WORST = Delays(float("inf"), float("inf"))


class Server(msgspec.Struct):
    """A server with its process, and what was measured of it."""

    name: str
    port: int
    process: psutil.Process | None = None
    one: Delays = WORST
    many: Delays = WORST
    rate: float = 0.0
    work: float = float("inf")
    memory: float = 0.0

    def busy(self) -> float:
        """Return the seconds of processor time that the server has used."""
        if self.process is None:
            return 0.0
        family = [self.process, *self.process.children(recursive=True)]
        return sum(sum(one.cpu_times()[:2]) for one in family)

    def note_memory(self) -> None:
        if self.process is not None:
            family = [self.process, *self.process.children(recursive=True)]
            self.memory = max(self.memory, sum(one.memory_info().rss for one in family) / 1e6)


def main() -> None:
    """Print the table; a bound that is not kept ends the program."""
    with ExitStack() as stack:
        direct = stack.enter_context(_own("no gateway", "upstream"))
        servers = [direct, stack.enter_context(_own("bare Starlette", "bare", str(direct.port)))]
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers.append(stack.enter_context(_callblocks(direct.port, folder)))
        servers.append(stack.enter_context(_litellm(direct.port, folder)))
        if (CACHE / "toolify" / "main.py").exists():
            servers.append(stack.enter_context(_toolify(direct.port, folder)))
        else:
            print(f"Toolify is not measured: its files are not in {CACHE / 'toolify'}")
        for server in servers:
            asyncio.run(_load(server, 1, fast=True))
        for turn in range(TURNS):
            for server in servers[:3] if turn >= ROUNDS else servers:
                server.many = server.many.best(asyncio.run(_load(server, STREAMS)))
                if turn < ROUNDS:
                    _measure_alone(server)
                server.note_memory()
    _print(servers)


def _measure_alone(server: Server) -> None:
    """Measure one stream, and streams as fast as they go."""
    server.one = server.one.best(asyncio.run(_load(server, 1)))
    began, busy = monotonic(), server.busy()
    asyncio.run(_load(server, FAST_STREAMS, fast=True))
    pieces = FAST_STREAMS * FAST_PIECES
    server.rate = max(server.rate, pieces / (monotonic() - began))
    server.work = min(server.work, 1e3 * (server.busy() - busy) / pieces)


def _print(servers: list[Server]) -> None:
    direct, *others = servers
    head = ["server", "first, 1", "piece, 1", f"first, {STREAMS}", f"piece, {STREAMS}"]
    rows: list[list[str]] = []
    for server in others:
        added = [
            server.one.first - direct.one.first,
            server.one.piece - direct.one.piece,
            server.many.first - direct.many.first,
            server.many.piece - direct.many.piece,
        ]
        cells = [f"{value:.2f} ms" for value in added]
        rate, memory = f"{server.rate:,.0f}", f"{server.memory:,.0f} MB"
        rows.append([server.name, *cells, f"{server.work:.2f} ms", rate, memory])
    rows.append(["no gateway", *[""] * 5, f"{direct.rate:,.0f}", ""])
    title = f"Time added with 1 and {STREAMS} streams, of 5 pieces a second each; pieces a second"
    print_table(title, [*head, "work", "pieces/s", "memory"], rows)
    ours = next(server for server in servers if server.name == "callblocks proxy")
    first, piece = ours.many.first - direct.many.first, ours.many.piece - direct.many.piece
    print(f"bounds: {FIRST_BOUND} ms added to the first byte, {PIECE_BOUND} ms to a piece")
    if first > FIRST_BOUND or piece > PIECE_BOUND:
        sys.exit(f"{first:.2f} ms and {piece:.2f} ms are too much")
    peers = [one for one in others if one.name in ("LiteLLM proxy", "Toolify")]
    behind = [one.name for one in peers if one.many.first < ours.many.first]
    behind += [one.name for one in peers if one.many.piece < ours.many.piece]
    behind += [one.name for one in peers if one.rate > ours.rate]
    if behind:
        sys.exit(f"the gateway is behind {', '.join(behind)}")


async def _load(server: Server, streams: int, *, fast: bool = False) -> Delays:
    """Ask for streams, and measure each of them."""
    spread = 0 if fast else SPREAD
    seen = await asyncio.gather(
        *(_stream(server, at / streams * spread, fast) for at in range(streams))
    )
    firsts = [(at, first) for at, first, _ in seen]
    delays = [sample for *_, pieces in seen for sample in pieces]
    return Delays(1e3 * _quietest(firsts), 1e3 * _quietest(delays))


def _quietest(samples: list[Sample]) -> float:
    """Return the median of the quietest time; that of all samples where they are few."""
    slots: dict[int, list[float]] = {}
    for at, delay in samples:
        slots.setdefault(int(at / SLOT), []).append(delay)
    medians = [median(slot) for slot in slots.values() if len(slot) >= ENOUGH]
    return min(medians, default=median(delay for _, delay in samples))


async def _stream(server: Server, wait: float, fast: bool) -> tuple[float, float, list[Sample]]:
    """Return when a reply began, the seconds to its first byte, and those that each piece took."""
    await asyncio.sleep(wait)
    asked: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": "What time is it?"}],
        "tools": [_TOOL],
        "stream": True,
        "seed": int(fast),
    }
    body = json.dumps(asked).encode()
    began = monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 20)
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\n"
        "authorization: Bearer sk-none\r\ncontent-type: application/json\r\n"
        f"connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    first, text, delays = 0.0, "", list[Sample]()
    async for line in reader:
        if not line.startswith(b"data: {"):
            assert first or not line.startswith(b"HTTP/1.1 4"), line
            continue
        now = monotonic()
        choices = json.loads(line[6:])["choices"]
        text += (choices[0]["delta"].get("content") or "") if choices else ""
        first = first or (now - began if text else 0.0)
        stamps = _STAMP.findall(text)
        if len(stamps) > len(delays):
            delays += [(now, now - float(stamp)) for stamp in stamps[len(delays) :]]
    writer.close()
    await writer.wait_closed()
    wanted = FAST_PIECES if fast else PACED_PIECES
    assert len(delays) == wanted, f"{server.name} gave {len(delays)} of {wanted} pieces: {text}"
    return began, first, delays


@contextmanager
def _own(name: str, *words: str) -> Generator[Server, None, None]:
    command = [sys.executable, "-m", "bench.gateway_app", *words]
    with _started(command) as child:
        assert child.stdout is not None
        yield Server(name, int(child.stdout.readline()), psutil.Process(child.pid))


@contextmanager
def _callblocks(upstream: int, folder: Path) -> Generator[Server, None, None]:
    file = folder / "gateway.toml"
    address = f"http://127.0.0.1:{upstream}/v1#m"
    file.write_text(
        f'default = "m"\n[models.m]\naddress = "{address}"\nmode = "text"\ndialect = "hermes"\n'
    )
    command = [sys.executable, "-m", "callblocks", "proxy", "--config", str(file), "--port", "0"]
    with _started(command, PYTHONUNBUFFERED="1") as child:
        assert child.stdout is not None
        found = next(filter(None, map(_ADDRESS.search, child.stdout)))
        yield Server("callblocks proxy", int(found[1]), psutil.Process(child.pid))


@contextmanager
def _litellm(upstream: int, folder: Path) -> Generator[Server, None, None]:
    program = CACHE / "bin" / "litellm"
    if not program.exists():
        print(f"Installing LiteLLM {LITELLM} into {CACHE}")
        subprocess.run([sys.executable, "-m", "venv", CACHE], check=True)
        pip = [CACHE / "bin" / "python", "-m", "pip", "-qq", "install"]
        subprocess.run([*pip, f"litellm[proxy]=={LITELLM}"], check=True)
    params = {
        "model": "openai/m",
        "api_base": f"http://127.0.0.1:{upstream}/v1",
        "api_key": "none",
    }
    config = folder / "litellm.yaml"
    config.write_text(json.dumps({"model_list": [{"model_name": "m", "litellm_params": params}]}))
    port = _free_port()
    command = [str(program), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    more = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HOME": str(folder), "NO_DOCS": "True"}
    with _started(command, **more) as child:
        _await(port, child)
        yield Server("LiteLLM proxy", port, psutil.Process(child.pid))


@contextmanager
def _toolify(upstream: int, folder: Path) -> Generator[Server, None, None]:
    port = _free_port()
    service = {
        "name": "m",
        "base_url": f"http://127.0.0.1:{upstream}/v1",
        "api_key": "none",
        "is_default": True,
        "models": ["m"],
    }
    config = {
        "server": {"port": port, "host": "127.0.0.1"},
        "upstream_services": [service],
        "client_authentication": {"allowed_keys": ["sk-none"]},
        "features": {"log_level": "ERROR"},
    }
    work = folder / "toolify"
    work.mkdir()
    (work / "config.yaml").write_text(json.dumps(config))
    # Toolify counts tokens with an encoding that LiteLLM has in its package.
    encodings = next(CACHE.glob("lib/*/site-packages/litellm/litellm_core_utils/tokenizers"))
    command = [str(CACHE / "bin" / "python"), str(CACHE / "toolify" / "main.py")]
    with _started(command, work, TIKTOKEN_CACHE_DIR=str(encodings), HOME=str(folder)) as child:
        _await(port, child)
        yield Server("Toolify", port, psutil.Process(child.pid))


@contextmanager
def _started(
    command: list[str], folder: Path | None = None, /, **more: str
) -> Generator[subprocess.Popen[str], None, None]:
    env: Mapping[str, str] = {**os.environ, **more}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env, cwd=folder
    ) as child:
        try:
            yield child
        finally:
            child.terminate()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def _await(port: int, child: subprocess.Popen[str]) -> None:
    """Wait until somebody listens at a port."""
    for _ in _until(120):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert child.poll() is None, f"{child.args} ended"
    raise AssertionError(f"{child.args} does not listen")


def _until(seconds: float) -> Iterator[None]:
    end = monotonic() + seconds
    while monotonic() < end:
        yield
        time.sleep(0.1)


if __name__ == "__main__":
    main()
