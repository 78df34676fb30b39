from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpcore2
import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.net.net_guard import Guard, resolve
from support.sites import PUBLIC, SECOND, Net, Site, ok


class Deaf(Net):
    """A net in which some addresses do not answer."""

    deaf: tuple[str, ...] = ()

    async def connect_tcp(self, host: str, port: int, *rest: Any, **more: Any) -> Any:
        if host in self.deaf:
            self.made.append((host, port))
            raise httpcore2.ConnectError(f"{host} is deaf")
        return await super().connect_tcp(host, port, *rest, **more)


def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    async def ask() -> None:
        async with Site(lambda asked: ok()) as site:
            net = Deaf({"two.test": [[SECOND, PUBLIC]]}, {PUBLIC: site.port})
            net.deaf = (SECOND,)
            await net.client().request("http://two.test/")
            assert net.made == [(SECOND, 80), (PUBLIC, 80)]

    asyncio.run(ask())


def test_where_no_address_answers_the_first_reason_is_told() -> None:
    net = Deaf({"many.test": [[f"8.8.8.{number}" for number in range(1, 10)]]})
    net.deaf = tuple(f"8.8.8.{number}" for number in range(1, 10))
    with pytest.raises(ToolError, match=r"8\.8\.8\.1 is deaf") as caught:
        asyncio.run(net.client().request("http://many.test/"))
    assert caught.value.code == "network_error"
    assert len(net.made) == 4


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "host_not_found"),
        (socket.gaierror(socket.EAI_AGAIN, "later"), "network_error"),
        (OSError("resolver is broken"), "host_not_found"),
        (UnicodeError("label too long"), "host_not_found"),
    ],
)
def test_a_name_without_an_address_is_told_apart_from_a_dead_network(
    error: Exception, code: str
) -> None:
    async def resolver(host: str, port: int) -> Sequence[str]:
        raise error

    with pytest.raises(ToolError) as caught:
        asyncio.run(Guard(resolver=resolver).connect_tcp("example.com", 80))
    assert caught.value.code == code
    assert "example.com" in caught.value.message


def test_a_name_with_no_answer_at_all_is_not_found() -> None:
    with pytest.raises(ToolError) as caught:
        asyncio.run(Net({"none.test": [[]]}).client().request("http://none.test/"))
    assert caught.value.code == "host_not_found"


def test_an_answer_that_is_no_address_is_refused() -> None:
    with pytest.raises(ToolError) as caught:
        asyncio.run(Net({"odd.test": [["localhost"]]}).client().request("http://odd.test/"))
    assert caught.value.code == "address_refused"


def test_the_operating_system_is_asked_once_per_address() -> None:
    async def ask() -> Sequence[str]:
        await Guard().sleep(0)
        return await resolve("127.0.0.1", 80)

    assert asyncio.run(ask()) == ["127.0.0.1"]


def test_an_opened_name_may_lead_inside_and_have_any_port() -> None:
    async def ask() -> None:
        async with Site(lambda asked: ok(b"mine")) as site:
            net = Net({"localhost": [["127.0.0.1"]]}, {"127.0.0.1": site.port})
            client = net.client(allow=("localhost:25",))
            assert (await client.request("http://LOCALHOST.:25/")).body == b"mine"

    asyncio.run(ask())


def test_names_whose_servers_are_silent_hold_no_thread_that_others_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silent = threading.Event()

    def wait(*_: object, **__: object) -> list[object]:
        silent.wait(120)
        raise socket.gaierror(socket.EAI_NONAME, "nobody")

    async def ask() -> list[object]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        monkeypatch.setattr(socket, "getaddrinfo", wait)
        asked = [asyncio.ensure_future(resolve(f"{at}.test", 80)) for at in range(3)]
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(10):
                assert await asyncio.to_thread(str, 5) == "5"
        finally:
            silent.set()
        return list(await asyncio.gather(*asked, return_exceptions=True))

    assert [type(answer) for answer in asyncio.run(ask())] == [socket.gaierror] * 3
