from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import pytest

from callblocks.core.errors import CallerError, ToolError
from callblocks.guard.net.client import Client, Hop, NetLimits, Response
from support.sites import PUBLIC, SECOND, Asked, Net, Site, ok, redirect

Told: TypeAlias = tuple[Response, list[Asked]]

NAMES = {"public.test": [[PUBLIC]], "second.test": [[SECOND]]}


def ask(answer: Any, url: str = "http://public.test/", **request: Any) -> Told:
    """What a client is told by a site that answers so, and what the site was asked."""

    async def run() -> Told:
        async with Site(answer) as site:
            client = Net(NAMES, {PUBLIC: site.port, SECOND: site.port}).client()
            return await client.request(url, **request), site.asked

    return asyncio.run(run())


def test_a_request_arrives_as_it_was_said() -> None:
    _, (asked,) = ask(
        lambda asked: ok(),
        "http://public.test:8080/ä?b=c#d",
        method="put",
        headers={"X-A": "b"},
        body=b"hello",
    )
    assert (asked.method, asked.target, asked.body) == ("PUT", "/%C3%A4?b=c", b"hello")
    assert asked.headers == {
        "host": "public.test:8080",
        "user-agent": "callblocks",
        "accept": "*/*",
        "x-a": "b",
        "accept-encoding": "gzip, deflate",
        "content-length": "5",
    }


def test_an_ipv6_host_has_its_brackets_where_it_is_said() -> None:
    response, (asked,) = ask(lambda asked: ok(), f"http://[{SECOND}]:8080/")
    assert asked.headers["host"] == f"[{SECOND}]:8080"
    assert response.url == f"http://[{SECOND}]:8080/"


@pytest.mark.parametrize(("method", "length"), [("GET", None), ("DELETE", None), ("POST", "0")])
def test_a_method_that_takes_a_body_says_that_it_has_none(method: str, length: str | None) -> None:
    _, (asked,) = ask(lambda asked: ok(), method=method)
    assert asked.headers.get("content-length") == length


@pytest.mark.parametrize("status", [200, 404, 500, 304])
def test_every_status_is_an_answer(status: int) -> None:
    body = b"" if status == 304 else b"words"
    response, _ = ask(lambda asked: ok(body, status))
    assert (response.status, response.body) == (status, body)


def test_a_packed_answer_is_unpacked() -> None:
    packed = gzip.compress("schön".encode())
    kind = "text/plain; charset=utf-8"
    response, _ = ask(lambda asked: ok(packed, content_encoding="gzip", content_type=kind))
    assert (response.text, response.mime) == ("schön", "text/plain")


def test_head_has_no_body_whatever_it_announces() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\ncontent-encoding: gzip\r\n\r\n"
    response, _ = ask(lambda asked: head, method="HEAD")
    assert (response.body, response.header("content-length")) == (b"", "99999999")


def test_header_names_are_lower_case_and_odd_bytes_are_kept() -> None:
    response, _ = ask(lambda asked: b"HTTP/1.1 200 OK\r\nX-A: \xc3\xa4\r\nX-B: \xe4\r\n\r\n")
    assert response.headers == (("x-a", "ä"), ("x-b", "ä"))


def test_the_way_that_was_gone_is_told() -> None:
    steps = {"/": "/a", "/a": "http://second.test/b"}
    response, asked = ask(
        lambda asked: redirect(steps[asked.target], 301) if asked.target in steps else ok(b"end")
    )
    assert response.url == "http://second.test/b"
    assert response.history == (
        Hop(301, "http://public.test/"),
        Hop(301, "http://public.test/a"),
    )
    assert len(asked) == 3


def test_every_hop_is_checked_and_the_first_url_is_not() -> None:
    steps = {"/": "/a", "/a": "http://second.test/b", "/b": "/c"}
    checked: list[str] = []

    def check(url: str) -> None:
        checked.append(url)

    ask(
        lambda asked: redirect(steps[asked.target]) if asked.target in steps else ok(),
        check=check,
    )
    assert checked == ["http://public.test/a", "http://second.test/b", "http://second.test/c"]


def test_a_hop_within_the_host_that_is_refused_is_not_asked() -> None:
    asked: list[str] = []

    def answer(one: Asked) -> bytes:
        asked.append(one.target)
        return redirect("/admin")

    with pytest.raises(ToolError, match="not there") as caught:
        ask(answer, check=lambda url: "not there" if url.endswith("/admin") else None)
    assert (caught.value.code, asked) == ("policy_denied", ["/"])


def test_five_redirects_are_followed() -> None:
    response, _ = ask(
        lambda asked: ok(b"end") if asked.target == "/xxxxx" else redirect(asked.target + "x")
    )
    assert (response.body, len(response.history)) == (b"end", 5)


def test_a_dead_port_is_a_network_error() -> None:
    async def run() -> None:
        async with Site() as site:
            port = site.port
        client = Client(allow=(f"127.0.0.1:{port}",))
        with pytest.raises(ToolError) as caught:
            await client.request(f"http://127.0.0.1:{port}/")
        assert caught.value.code == "network_error"
        assert f"127.0.0.1:{port}" in caught.value.message

    asyncio.run(run())


def test_no_more_connections_are_open_than_allowed() -> None:
    open_now, most = 0, 0

    async def answer(asked: Asked) -> AsyncIterator[bytes]:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0.01)
        open_now -= 1
        yield ok()

    async def run() -> None:
        async with Site(answer) as site:
            client = Net(NAMES, {PUBLIC: site.port}).client(connections=2)
            await asyncio.gather(*(client.request("http://public.test/") for _ in range(8)))
            assert (site.met, most) == (8, 2)

    asyncio.run(run())


def test_one_client_serves_one_event_loop_after_another() -> None:
    client = Client(NetLimits(connections=1), ("127.0.0.1:1",))

    async def run() -> None:
        for code in await asyncio.gather(*(one() for _ in range(3))):
            assert code == "network_error"

    async def one() -> str:
        with pytest.raises(ToolError) as caught:
            await client.request("http://127.0.0.1:1/")
        return caught.value.code

    asyncio.run(run())
    asyncio.run(run())


def test_who_stops_waiting_stops_the_request() -> None:
    stopped = asyncio.Event()

    async def answer(asked: Asked) -> AsyncIterator[bytes]:
        stopped.set()
        await asyncio.sleep(30)
        yield b""

    async def run() -> None:
        async with Site(answer) as site:
            client = Net(NAMES, {PUBLIC: site.port}).client()
            task = asyncio.create_task(client.request("http://public.test/"))
            await stopped.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


def test_a_wrong_opening_is_told_when_the_client_is_made() -> None:
    with pytest.raises(CallerError):
        Client(allow=("127.0.0.1",))


def test_making_a_client_loads_nothing_heavy() -> None:
    script = (
        "import sys; from callblocks.guard.net.client import Client; Client();"
        "print([name for name in ('asyncio', 'ssl', 'httpcore2', 'idna') if name in sys.modules])"
    )
    made = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert made.stdout == "[]\n"


def test_every_hop_is_asked_for_before_it_is_made_and_its_bytes_are_told() -> None:
    entered: list[str] = []
    heard: list[int] = []

    async def enter(url: str) -> None:
        entered.append(url)

    def answer(asked: Asked) -> bytes:
        return (
            redirect("/b")
            if asked.target == "/"
            else ok(gzip.compress(b"x" * 9_999), content_encoding="gzip")
        )

    response, _ = ask(answer, enter=enter, heard=heard.append)
    assert entered == ["http://public.test/", "http://public.test/b"]
    assert heard[-1] == len(gzip.compress(b"x" * 9_999))
    assert len(response.body) == 9_999


def test_who_may_stop_a_hop_stops_it_before_it_is_made() -> None:
    async def enter(url: str) -> None:
        if url.endswith("/b"):
            raise ToolError("robots_denied", "no")

    async def run() -> tuple[str, int]:
        async with Site(lambda asked: redirect("/b")) as site:
            client = Net(NAMES, {PUBLIC: site.port}).client()
            with pytest.raises(ToolError) as caught:
                await client.request("http://public.test/", enter=enter)
            return caught.value.code, site.met

    assert asyncio.run(run()) == ("robots_denied", 1)


def test_a_client_with_other_limits_is_in_the_same_network() -> None:
    async def run() -> None:
        async with Site(lambda asked: ok(b"x" * 100)) as site:
            first = Net(NAMES, {PUBLIC: site.port}).client()
            other = first.with_limits(body=10)
            assert (await first.request("http://public.test/")).status == 200
            assert other.limits.deadline == first.limits.deadline
            with pytest.raises(ToolError) as caught:
                await other.request("http://public.test/")
            assert caught.value.code == "response_too_large"
            with pytest.raises(ToolError) as caught:
                await other.request(f"http://127.0.0.1:{site.port}/")
            assert caught.value.code == "address_refused"

    asyncio.run(run())
