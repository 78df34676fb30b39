"""A gateway that serves in a thread, before models of a test."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2

from callblocks.gateway.application import AppSettings, GatewayApp
from callblocks.gateway.config import GatewayConfig, config_of_models
from callblocks.gateway.operation import Operation
from callblocks.gateway.server import GatewayServer
from callblocks.gateway.wires.reply_items import Wire
from callblocks.guard.net.addresses import listen_at
from support.plain_wire import plain_wires

__all__ = ("RunningGateway", "asking", "events_of", "running_gateway", "sent_events", "until")


class RunningGateway:
    """`client` has the address; `loop` is that of the gateway."""

    def __init__(
        self,
        operation: Operation,
        port: int,
        loop: asyncio.AbstractEventLoop,
        server: GatewayServer,
    ) -> None:
        self.operation = operation
        self._server = server
        self.port = port
        self.loop = loop
        self.url = f"http://127.0.0.1:{port}"
        self.client = httpx2.Client(base_url=self.url, timeout=120)

    def ask(self, text: str = "Hi", **more: Any) -> httpx2.Response:
        """Ask on the wire of chats."""
        return self.client.post("/v1/chat/completions", json=asking(text, **more))

    def connections(self) -> int:
        """Return how many clients are connected."""
        return len(self._server.server_state.connections)

    def tasks(self) -> int:
        """Return how many tasks the loop of the gateway has."""

        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result(10)


def asking(text: str = "Hi", **more: Any) -> dict[str, Any]:
    """Return the body of a request with one message."""
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


@contextmanager
def running_gateway(
    specs: Iterable[str] = ("scripted",),
    *,
    operation: Operation | None = None,
    settings: AppSettings | None = None,
    wires: Mapping[str, Wire] | None = None,
) -> Generator[RunningGateway, None, None]:
    """Serve on a free port, until the end of the block."""
    config = config_of_models(specs, GatewayConfig()) if operation is None else None
    own = operation or Operation(lambda: config or GatewayConfig())
    app = GatewayApp(own, wires or plain_wires(), settings)
    bound, ready = listen_at("127.0.0.1", 0), threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        await server.serve([bound])

    def told() -> None:
        ready.set()

    server = GatewayServer(app, told)
    server.capture_signals = _no_signals  # signals belong to the main thread
    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert ready.wait(120)
    gateway = RunningGateway(own, bound.getsockname()[1], loops[0], server)
    try:
        with gateway.client:
            yield gateway
    finally:
        server.should_exit = True
        thread.join(120)
        bound.close()
        assert not thread.is_alive()


@contextmanager
def _no_signals() -> Generator[None, None, None]:
    yield


def sent_events(content: bytes) -> list[dict[str, Any]]:
    """Return the events in a stream of the plain wire."""
    lines = (line for line in content.decode().splitlines() if line.startswith("data: {"))
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def events_of(answer: httpx2.Response) -> list[dict[str, Any]]:
    """Return the events of an answer."""
    if answer.headers["content-type"] == "application/json":
        found: list[dict[str, Any]] = answer.json()["events"]
        return found
    return sent_events(answer.content)


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail where it does not for a minute."""
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit, "it never holds"
        time.sleep(0.005)
