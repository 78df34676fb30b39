"""Attacks on the HTTP client: nothing inside is reached, and no server takes it down.

The secret server stands on loopback and counts who comes. `Net.made` has every connection
that the guard let through, so a target that would not answer here counts as well.
"""

from __future__ import annotations

import asyncio
import gzip
import ssl
import subprocess
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpcore2
import pytest

from callblocks.core.errors import ToolError
from callblocks.core.urls import Url
from callblocks.guard.net.client import Client, HttpRequest, NetLimits
from callblocks.guard.net.http_exchange import exchange
from callblocks.guard.net.net_guard import Guard
from support.sites import PUBLIC, SECOND, Asked, Net, Site, ok, redirect

REFUSED, INVALID = "address_refused", "invalid_url"

TARGETS = {
    # Plain addresses of the inside.
    "loopback": ("http://127.0.0.1:{port}/", REFUSED),
    "another loopback": ("http://127.8.8.8:{port}/", REFUSED),
    "zero": ("http://0.0.0.0:{port}/", REFUSED),
    "private 10": ("http://10.0.0.1/", REFUSED),
    "private 172": ("http://172.16.0.1/", REFUSED),
    "private 192": ("http://192.168.1.1/", REFUSED),
    "shared": ("http://100.64.0.1/", REFUSED),
    "protocols": ("http://192.0.0.192/opc/v1/instance/", REFUSED),
    "broadcast": ("http://255.255.255.255/", REFUSED),
    "multicast": ("http://224.0.0.1/", REFUSED),
    "aws metadata": ("http://169.254.169.254/latest/meta-data/", REFUSED),
    "aws tasks": ("http://169.254.170.2/v2/credentials/", REFUSED),
    "azure agent": ("http://168.63.129.16/machine?comp=goalstate", REFUSED),
    "alibaba metadata": ("http://100.100.100.200/latest/meta-data/", REFUSED),
    "aws metadata v6": ("http://[fd00:ec2::254]/latest/meta-data/", REFUSED),
    # Other spellings of loopback.
    "decimal": ("http://2130706433:{port}/", INVALID),
    "octal": ("http://0177.0.0.1:{port}/", INVALID),
    "octal all": ("http://0177.0000.0000.0001:{port}/", INVALID),
    "hex": ("http://0x7f000001:{port}/", INVALID),
    "hex parts": ("http://0x7f.0x0.0x0.0x1:{port}/", INVALID),
    "short": ("http://127.1:{port}/", INVALID),
    "zero alone": ("http://0:{port}/", INVALID),
    "overflow": ("http://127.0.0.257:{port}/", INVALID),
    "leading zeros": ("http://127.000.000.001:{port}/", INVALID),
    "full width digits": ("http://１２７.０.０.１:{port}/", REFUSED),
    "circled digits": ("http://①②⑦.⓪.⓪.①:{port}/", REFUSED),
    "ideographic dots": ("http://127。0。0。1:{port}/", REFUSED),
    "percent in host": ("http://%31%32%37.0.0.1:{port}/", INVALID),
    "trailing dot": ("http://127.0.0.1.:{port}/", REFUSED),
    # IPv6.
    "v6 loopback": ("http://[::1]:{port}/", REFUSED),
    "v6 loopback in full": ("http://[0:0:0:0:0:0:0:1]:{port}/", REFUSED),
    "v6 any": ("http://[::]:{port}/", REFUSED),
    "v4 mapped": ("http://[::ffff:127.0.0.1]:{port}/", REFUSED),
    "v4 mapped hex": ("http://[::ffff:7f00:1]:{port}/", REFUSED),
    "v4 compatible": ("http://[::127.0.0.1]:{port}/", REFUSED),
    "v4 translated": ("http://[::ffff:0:127.0.0.1]:{port}/", REFUSED),
    "nat64": ("http://[64:ff9b::7f00:1]:{port}/", REFUSED),
    "local nat64": ("http://[64:ff9b:1::7f00:1]:{port}/", REFUSED),
    "6to4": ("http://[2002:7f00:1::]:{port}/", REFUSED),
    "teredo": ("http://[2001:0:7f00:1::]:{port}/", REFUSED),
    "isatap": ("http://[2600::5efe:7f00:1]:{port}/", REFUSED),
    "v6 private": ("http://[fc00::1]/", REFUSED),
    "site local": ("http://[fec0::1]/", REFUSED),
    "link local": ("http://[fe80::1]/", REFUSED),
    "zone id": ("http://[fe80::1%25lo]:{port}/", INVALID),
    "zone id on loopback": ("http://[::1%lo]:{port}/", INVALID),
    # Names of the inside.
    "localhost": ("http://localhost:{port}/", REFUSED),
    "localhost with a dot": ("http://localhost.:{port}/", REFUSED),
    "localhost in capitals": ("http://LOCALHOST:{port}/", REFUSED),
    "below localhost": ("http://a.localhost:{port}/", REFUSED),
    "ip6-localhost": ("http://ip6-localhost:{port}/", REFUSED),
    "long s": ("http://localhoſt:{port}/", REFUSED),
    "soft hyphen": ("http://local\u00adhost:{port}/", INVALID),
    "google metadata": ("http://metadata.google.internal/", REFUSED),
    "wildcard dns": ("http://127.0.0.1.nip.test:{port}/", REFUSED),
    "wildcard dns v6": ("http://six.nip.test:{port}/", REFUSED),
    "machine name": ("http://printer:{port}/", REFUSED),
    # What one program takes for the host and another does not.
    "user name": ("http://public.test@127.0.0.1:{port}/", INVALID),
    "password": ("http://public.test:80@127.0.0.1:{port}/", INVALID),
    "two at signs": ("http://a@127.0.0.1:{port}@public.test/", INVALID),
    "encoded at sign": ("http://public.test%40127.0.0.1:{port}/", INVALID),
    "backslash": ("http://127.0.0.1:{port}\\@public.test/", INVALID),
    "fragment before at": ("http://127.0.0.1:{port}#@public.test/", REFUSED),
    "tab": ("http://127.0.0\t.1:{port}/", INVALID),
    "line break": ("http://127.0.0.1:{port}/ HTTP/1.1\r\nX-Evil: 1\r\n\r\n", INVALID),
    "leading blank": (" http://127.0.0.1:{port}/", INVALID),
    "nul": ("http://127.0.0.1\0.public.test:{port}/", INVALID),
    "two ports": ("http://127.0.0.1:{port}:80/", INVALID),
    "one slash": ("http:/127.0.0.1:{port}/", INVALID),
    "three slashes": ("http:///127.0.0.1:{port}/", INVALID),
    # What is not http.
    "file": ("file:///etc/passwd", INVALID),
    "gopher": ("gopher://127.0.0.1:{port}/_GET%20/", INVALID),
    "dict": ("dict://127.0.0.1:{port}/stat", INVALID),
    "ftp": ("ftp://127.0.0.1:{port}/", INVALID),
    "websocket": ("ws://127.0.0.1:{port}/", INVALID),
    "unix socket": ("http+unix://%2Fvar%2Frun%2Fdocker.sock/info", INVALID),
    "view-source": ("view-source:http://127.0.0.1:{port}/", INVALID),
    "no scheme": ("127.0.0.1:{port}/", INVALID),
    "mail": ("http://public.test:25/", INVALID),
    "redis": ("http://public.test:6379/", INVALID),
}

NAMES = {
    "public.test": [[PUBLIC]],
    "second.test": [[SECOND]],
    "localhost": [["127.0.0.1"]],
    "a.localhost": [["127.0.0.1"]],
    "ip6-localhost": [["::1"]],
    "127.0.0.1.nip.test": [["127.0.0.1"]],
    "six.nip.test": [["::ffff:127.0.0.1"]],
    "printer": [["192.168.7.7"]],
    "metadata.google.internal": [["169.254.169.254"]],
    "mixed.test": [[PUBLIC, "127.0.0.1"]],
    "mixed-last.test": [["127.0.0.1", PUBLIC]],
    "rebind.test": [[PUBLIC], ["127.0.0.1"]],
    "inside-then-public.test": [["127.0.0.1"], [PUBLIC]],
}

LOCATIONS = {
    "loopback": ("http://127.0.0.1:{port}/", REFUSED),
    "metadata": ("http://169.254.169.254/latest/", REFUSED),
    "v6": ("http://[::ffff:127.0.0.1]:{port}/", REFUSED),
    "name": ("http://127.0.0.1.nip.test:{port}/", REFUSED),
    "protocol relative": ("//127.0.0.1:{port}/", REFUSED),
    "decimal": ("//2130706433:{port}/", INVALID),
    "user name": ("http://public.test@127.0.0.1:{port}/", INVALID),
    "backslashes": ("\\\\127.0.0.1:{port}\\", INVALID),
    "slash backslash": ("/\\127.0.0.1:{port}/", INVALID),
    "blank before": ("http://127.0.0.1 :{port}/", INVALID),
    "file": ("file:///etc/passwd", INVALID),
    "gopher": ("gopher://127.0.0.1:{port}/_x", INVALID),
    "data": ("data:text/plain,hello", INVALID),
    "javascript": ("javascript:alert(1)", INVALID),
    "mail port": ("http://public.test:25/", INVALID),
}


async def fails(client: Client, url: str, **request: Any) -> ToolError:
    """The error that a request ends with."""
    with pytest.raises(ToolError) as caught:
        await client.request(url, **request)
    return caught.value


@pytest.mark.parametrize("case", TARGETS)
def test_an_inside_target_is_refused_before_any_connection(case: str) -> None:
    async def attack() -> None:
        async with Site() as secret:
            url, code = TARGETS[case]
            net = Net(NAMES, {PUBLIC: secret.port})
            error = await fails(net.client(), url.replace("{port}", str(secret.port)))
            assert (error.code, net.made, secret.met) == (code, [], 0)
            assert "\n" not in error.message

    asyncio.run(attack())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("case", LOCATIONS)
def test_a_redirect_to_the_inside_is_refused(case: str, status: int) -> None:
    async def attack() -> None:
        async with Site() as secret:
            location, code = LOCATIONS[case]
            location = location.replace("{port}", str(secret.port))
            async with Site(lambda asked: redirect(location, status)) as site:
                net = Net(NAMES, {PUBLIC: site.port})
                error = await fails(net.client(), "http://public.test/")
                assert (error.code, net.made, secret.met) == (code, [(PUBLIC, 80)], 0)

    asyncio.run(attack())


def test_a_chain_of_redirects_is_checked_at_each_step() -> None:
    async def attack() -> None:
        async with Site() as secret:
            steps = {
                "/": "/one",
                "/one": "two?x=1",
                "/two?x=1": "//second.test/three",
                "/three": f"http://127.0.0.1:{secret.port}/",
            }
            async with Site(lambda asked: redirect(steps[asked.target])) as site:
                net = Net(NAMES, {PUBLIC: site.port, SECOND: site.port})
                error = await fails(net.client(), "http://public.test/")
                assert (error.code, secret.met) == (REFUSED, 0)
                assert [asked.target for asked in site.asked] == list(steps)

    asyncio.run(attack())


def test_a_redirect_without_end_ends() -> None:
    async def attack() -> None:
        async with Site(lambda asked: redirect(asked.target + "x")) as site:
            net = Net(NAMES, {PUBLIC: site.port})
            error = await fails(net.client(), "http://public.test/")
            assert (error.code, site.met) == ("too_many_redirects", 6)

    asyncio.run(attack())


def test_a_name_that_changes_its_mind_is_connected_where_it_was_checked() -> None:
    async def attack() -> None:
        async with Site() as secret, Site(lambda asked: ok(b"public")) as site:
            net = Net(NAMES, {PUBLIC: site.port})
            url = f"http://rebind.test:{secret.port}/"
            response = await net.client().request(url)
            assert response.body == b"public"
            assert (net.resolved, net.made) == (["rebind.test"], [(PUBLIC, secret.port)])
            error = await fails(net.client(), url)
            assert (error.code, secret.met) == (REFUSED, 0)

    asyncio.run(attack())


def test_a_name_that_changes_its_mind_within_a_redirect_is_checked_anew() -> None:
    async def attack() -> None:
        async with Site() as secret, Site(lambda asked: redirect("/again")) as site:
            net = Net(NAMES, {PUBLIC: site.port})
            error = await fails(net.client(), f"http://rebind.test:{secret.port}/")
            assert (error.code, secret.met, site.met) == (REFUSED, 0, 1)

    asyncio.run(attack())


@pytest.mark.parametrize("name", ["mixed.test", "mixed-last.test", "inside-then-public.test"])
def test_one_inside_answer_among_public_ones_refuses_the_name(name: str) -> None:
    async def attack() -> None:
        async with Site() as secret:
            net = Net(NAMES, {PUBLIC: secret.port})
            error = await fails(net.client(), f"http://{name}:{secret.port}/")
            assert (error.code, net.made, secret.met) == (REFUSED, [], 0)

    asyncio.run(attack())


def test_a_refusal_does_not_tell_the_address_behind_a_name() -> None:
    error = asyncio.run(fails(Net(NAMES).client(), "http://printer/"))
    assert "192.168" not in error.message
    assert "printer" in error.message


def test_an_opened_address_is_opened_alone() -> None:
    async def attack() -> None:
        async with Site() as secret, Site(lambda asked: ok(b"mine")) as mine:
            net = Net(NAMES)
            client = net.client(allow=(f"127.0.0.1:{mine.port}",))
            assert (await client.request(f"http://127.0.0.1:{mine.port}/")).body == b"mine"
            for url in (
                f"http://127.0.0.1:{secret.port}/",
                f"http://127.0.0.1.nip.test:{mine.port}/",
                f"http://localhost:{mine.port}/",
                f"http://127.0.0.2:{mine.port}/",
                f"http://[::ffff:127.0.0.1]:{mine.port}/",
            ):
                assert (await fails(client, url)).code == REFUSED
            assert (secret.met, mine.met) == (0, 1)

    asyncio.run(attack())


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"])
def test_a_proxy_of_the_environment_is_not_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def attack() -> None:
        async with Site() as secret, Site(lambda asked: ok(b"public")) as site:
            monkeypatch.setenv(name, f"http://127.0.0.1:{secret.port}")
            net = Net(NAMES, {PUBLIC: site.port})
            assert (await net.client().request("http://public.test/")).body == b"public"
            assert secret.met == 0

    asyncio.run(attack())


def test_a_netrc_of_the_person_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine public.test login me password hidden\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))

    async def attack() -> None:
        async with Site(lambda asked: ok()) as site:
            await Net(NAMES, {PUBLIC: site.port}).client().request("http://public.test/")
            assert "authorization" not in site.asked[0].headers

    asyncio.run(attack())


def test_a_socket_of_the_machine_is_refused(tmp_path: Path) -> None:
    async def attack() -> None:
        with pytest.raises(ToolError) as caught:
            await Guard().connect_unix_socket(str(tmp_path / "docker.sock"))
        assert caught.value.code == REFUSED

    asyncio.run(attack())


def test_the_guard_alone_refuses_a_url_that_nobody_read() -> None:
    """Were an odd spelling to pass the reading, its meaning is what is checked."""

    async def attack(host: str) -> None:
        async with Site() as secret:
            request = HttpRequest(Url("http", host, secret.port, "/"))
            with pytest.raises(ToolError) as caught:
                async with exchange(request, Guard(), None, NetLimits()):
                    pass
            assert (caught.value.code, secret.met) == (REFUSED, 0)

    for host in ("127.1", "0x7f.1", "2130706433", "0177.0.0.1", "127.0.0.1"):
        asyncio.run(attack(host))


CREDENTIALS = {
    "Authorization": "Bearer hidden",
    "Cookie": "session=hidden",
    "X-Api-Key": "hidden",
    "X-Auth-Token": "hidden",
    "PRIVATE-TOKEN": "hidden",
    "Apikey": "hidden",
    "X-Whatever-We-Call-It": "hidden",
}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_credentials_do_not_cross_to_another_origin(status: int) -> None:
    async def attack() -> None:
        async with (
            Site(lambda asked: ok(b"caught")) as thief,
            Site(lambda asked: redirect("http://second.test/", status)) as site,
        ):
            net = Net(NAMES, {PUBLIC: site.port, SECOND: thief.port})
            response = await net.client().request("http://public.test/", headers=CREDENTIALS)
            assert response.body == b"caught"
            assert site.asked[0].headers["x-api-key"] == "hidden"
            assert "hidden" not in str(thief.asked[0].headers)
            assert thief.asked[0].headers["host"] == "second.test"

    asyncio.run(attack())


def test_another_port_is_another_origin() -> None:
    async def attack() -> None:
        async with Site(
            lambda asked: redirect("http://public.test:8080/b") if asked.target == "/" else ok(b"b")
        ) as site:
            net = Net(NAMES, {PUBLIC: site.port})
            await net.client().request("http://public.test/", headers=CREDENTIALS)
            assert "hidden" not in str(site.asked[1].headers)

    asyncio.run(attack())


@pytest.mark.parametrize("status", [307, 308])
def test_a_body_does_not_cross_to_another_origin(status: int) -> None:
    async def attack() -> None:
        async with (
            Site() as thief,
            Site(lambda asked: redirect("http://second.test/", status)) as site,
        ):
            net = Net(NAMES, {PUBLIC: site.port, SECOND: thief.port})
            response = await net.client().request("http://public.test/", "POST", body=b"hidden")
            assert (response.status, thief.met) == (status, 0)
            assert response.not_followed == "http://second.test/"

    asyncio.run(attack())


def test_cookies_are_kept_neither_within_nor_between_requests() -> None:
    def answer(asked: Asked) -> bytes:
        cookie = "session=1; Path=/"
        if asked.target == "/":
            return redirect("/next", set_cookie=cookie)
        return ok(set_cookie=cookie)

    async def attack() -> None:
        async with Site(answer) as site:
            client = Net(NAMES, {PUBLIC: site.port}).client()
            await client.request("http://public.test/")
            await client.request("http://public.test/")
            assert len(site.asked) == 4
            assert not any("cookie" in asked.headers for asked in site.asked)

    asyncio.run(attack())


SMUGGLED = {
    "value": {"headers": {"X-A": "1\r\nX-Evil: 2"}},
    "value with a lone feed": {"headers": {"X-A": "1\nX-Evil: 2"}},
    "value with NUL": {"headers": {"X-A": "1\0"}},
    "value beyond ASCII": {"headers": {"X-A": "\u560d\u560aX-Evil: 2"}},
    "name": {"headers": {"X-A: 1\r\nX-Evil": "2"}},
    "name with a blank": {"headers": {"Content-Length ": "0"}},
    "empty name": {"headers": {"": "0"}},
    "method": {"method": "GET / HTTP/1.1\r\nX-Evil: 1\r\n\r\nGET"},
    "method connect": {"method": "CONNECT"},
    "method trace": {"method": "TRACE"},
    "length": {"headers": {"Content-Length": "5"}},
    "transfer": {"headers": {"Transfer-Encoding": "chunked"}},
    "host": {"headers": {"hOsT": "localhost"}},
    "connection": {"headers": {"Connection": "close, X-Real-Ip"}},
    "upgrade": {"headers": {"Upgrade": "h2c"}},
    "proxy": {"headers": {"Proxy-Authorization": "Basic eA=="}},
    "override": {"headers": {"X-HTTP-Method-Override": "DELETE"}},
    "many": {"headers": {f"X-{number}": "1" for number in range(1000)}},
    "long": {"headers": {"X-A": "1" * 100_000}},
}


@pytest.mark.parametrize("case", SMUGGLED)
def test_a_request_that_smuggles_is_refused_before_any_connection(case: str) -> None:
    net = Net(NAMES, {PUBLIC: 1})
    error = asyncio.run(fails(net.client(), "http://public.test/", **SMUGGLED[case]))
    assert (error.code, net.made) == ("invalid_input", [])


@pytest.mark.parametrize("target", ["/a%0d%0aX-Evil:%201", "/?q=%0d%0a%0d%0aGET%20/admin"])
def test_an_encoded_line_break_stays_encoded(target: str) -> None:
    async def attack() -> None:
        async with Site(lambda asked: ok()) as site:
            net = Net(NAMES, {PUBLIC: site.port})
            await net.client().request(f"http://public.test{target}")
            assert [asked.target for asked in site.asked] == [target]
            assert "x-evil" not in site.asked[0].headers

    asyncio.run(attack())


async def endless(asked: Asked) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield b"x" * 65_536


async def endless_chunks(asked: Asked) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    while True:
        yield b"400\r\n" + b"x" * 1024 + b"\r\n"


async def endless_headers(asked: Asked) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"x-more: " + b"y" * 1000 + b"\r\n"


async def endless_nothing(asked: Asked) -> AsyncIterator[bytes]:
    """Packed data that unpacks to nothing at all: empty stored blocks."""
    yield b"HTTP/1.1 200 OK\r\ncontent-encoding: deflate\r\n\r\nx\x9c"
    while True:
        yield b"\x00\x00\x00\xff\xff" * 1000


def packed(body: bytes, encoding: str) -> bytes:
    return ok(body, content_encoding=encoding)


BOMB = gzip.compress(bytes(50_000_000))
TOO_LARGE = {
    "gzip bomb": lambda asked: packed(BOMB, "gzip"),
    "deflate bomb": lambda asked: packed(zlib.compress(bytes(50_000_000)), "deflate"),
    "bomb in many parts": lambda asked: packed(gzip.compress(bytes(400_000)) * 5, "gzip"),
    "endless body": endless,
    "endless chunks": endless_chunks,
    "endless headers": endless_headers,
    "endless nothing": endless_nothing,
    "announced": lambda asked: b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
    "many headers": lambda asked: ok().replace(b"\r\n\r\n", b"\r\nx: 1" * 500 + b"\r\n\r\n"),
    "long header": lambda asked: ok(x_long="y" * 80_000),
}


@pytest.mark.parametrize("case", TOO_LARGE)
def test_a_response_beyond_the_limit_ends_there(case: str) -> None:
    async def attack() -> None:
        async with Site(TOO_LARGE[case]) as site:
            client = Net(NAMES, {PUBLIC: site.port}).client(body=1_000_000)
            error = await fails(client, "http://public.test/")
            assert error.code == "response_too_large"

    asyncio.run(attack())


BROKEN = {
    "brotli unasked": lambda asked: packed(b"\x8b\x02\x80abc\x03", "br"),
    "zstd unasked": lambda asked: packed(b"\x28\xb5\x2f\xfd", "zstd"),
    "packed twice": lambda asked: packed(gzip.compress(BOMB), "gzip, gzip"),
    "not packed": lambda asked: packed(b"plain text", "gzip"),
    "packed and cut": lambda asked: packed(gzip.compress(b"x" * 100)[:-4], "gzip"),
    "one packed byte": lambda asked: packed(b"\x1f", "gzip"),
    "parts without end": lambda asked: packed(gzip.compress(b"") * 1001, "gzip"),
    "cut": lambda asked: b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc",
    "no http": lambda asked: b"SSH-2.0-OpenSSH_9.2\r\n",
    "nothing": lambda asked: b"",
    "two lengths": lambda asked: ok(b"abc").replace(b"\r\n\r\n", b"\r\nContent-Length: 2\r\n\r\n"),
    "bad chunk": lambda asked: b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_response_is_a_network_error(case: str) -> None:
    async def attack() -> None:
        async with Site(BROKEN[case]) as site:
            client = Net(NAMES, {PUBLIC: site.port}).client()
            error = await fails(client, "http://public.test/")
            assert error.code == "network_error"
            assert error.message.isprintable()

    asyncio.run(attack())


async def slow_body(asked: Asked) -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"
    while True:
        yield b"x"
        await asyncio.sleep(0.02)


async def slow_headers(asked: Asked) -> AsyncIterator[bytes]:
    for byte in b"HTTP/1.1 200 OK\r\nx-a: 1\r\n" * 100:
        yield bytes([byte])
        await asyncio.sleep(0.02)


async def never_final(asked: Asked) -> AsyncIterator[bytes]:
    while True:
        yield b"HTTP/1.1 100 Continue\r\n\r\n"
        await asyncio.sleep(0.001)


async def silence(asked: Asked) -> AsyncIterator[bytes]:
    await asyncio.sleep(30)
    yield b""


async def slow_redirects(asked: Asked) -> AsyncIterator[bytes]:
    await asyncio.sleep(0.2)
    yield redirect("/again")


@pytest.mark.parametrize("answer", [slow_body, slow_headers, never_final, silence, slow_redirects])
def test_a_slow_server_meets_the_deadline(answer: Any) -> None:
    async def attack() -> None:
        async with Site(answer) as site:
            client = Net(NAMES, {PUBLIC: site.port}).client(deadline=0.5)
            assert (await fails(client, "http://public.test/")).code == "timeout"

    asyncio.run(attack())


def test_a_silent_server_meets_the_limit_of_one_read() -> None:
    async def attack() -> None:
        async with Site(silence) as site:
            client = Net(NAMES, {PUBLIC: site.port}).client(read=0.1)
            assert (await fails(client, "http://public.test/")).code == "timeout"

    asyncio.run(attack())


def test_a_silent_name_server_meets_the_limit_of_a_connection() -> None:
    async def silent(host: str, port: int) -> list[str]:
        await asyncio.sleep(30)
        return []

    client = Client(NetLimits(connect=0.1), (), silent)
    assert asyncio.run(fails(client, "http://public.test/")).code == "timeout"


def test_the_body_of_a_followed_redirect_is_not_read() -> None:
    async def bulky(asked: Asked) -> AsyncIterator[bytes]:
        if asked.target != "/":
            yield ok(b"here")
            return
        yield b"HTTP/1.1 302 Found\r\nlocation: /next\r\n\r\n"
        while True:
            yield b"x" * 65_536

    async def attack() -> None:
        async with Site(bulky) as site:
            client = Net(NAMES, {PUBLIC: site.port}).client(body=1000)
            assert (await client.request("http://public.test/")).body == b"here"

    asyncio.run(attack())


def test_an_answer_sent_too_early_cannot_reach_the_next_request() -> None:
    async def attack() -> None:
        async with Site(lambda asked: ok(b"first") + ok(b"planted")) as site:
            client = Net(NAMES, {PUBLIC: site.port}).client()
            for _ in range(2):
                assert (await client.request("http://public.test/")).body == b"first"
            assert site.met == 2

    asyncio.run(attack())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for public.test that only itself vouches for, with its key."""
    folder = tmp_path_factory.mktemp("tls")
    both = folder / "both.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=public.test"),
            *("-addext", "subjectAltName=DNS:public.test", "-keyout", both, "-out", both),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return both


def serving(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_tls_asks_for_the_name_although_an_address_is_connected(certificate: Path) -> None:
    names: list[str | None] = []
    context = serving(certificate)
    context.sni_callback = lambda _socket, name, _context: names.append(name)

    async def attack() -> None:
        async with Site(lambda asked: ok(b"safe"), context) as site:
            net = Net(NAMES, {PUBLIC: site.port})
            trust = ssl.create_default_context(cafile=str(certificate))
            client = Client(NetLimits(), (), net.resolve, backend=net, tls=trust)
            assert (await client.request("https://public.test/")).body == b"safe"
            assert (names, net.made) == (["public.test"], [(PUBLIC, 443)])

    asyncio.run(attack())


@pytest.mark.parametrize("host", ["second.test", PUBLIC])
def test_a_certificate_of_another_name_is_refused(certificate: Path, host: str) -> None:
    async def attack() -> None:
        async with Site(tls=serving(certificate)) as site:
            net = Net(NAMES, {PUBLIC: site.port, SECOND: site.port})
            trust = ssl.create_default_context(cafile=str(certificate))
            client = Client(NetLimits(), (), net.resolve, backend=net, tls=trust)
            error = await fails(client, f"https://{host}/")
            assert (error.code, len(site.asked)) == ("network_error", 0)
            assert "certificate" in error.message

    asyncio.run(attack())


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path) -> None:
    async def attack() -> None:
        async with Site(tls=serving(certificate)) as site:
            client = Net(NAMES, {PUBLIC: site.port}).client()
            error = await fails(client, "https://public.test/")
            assert (error.code, len(site.asked)) == ("network_error", 0)
            assert "not trusted: self" in error.message

    asyncio.run(attack())


def test_https_is_not_left_for_http(certificate: Path) -> None:
    async def attack() -> None:
        async with (
            Site() as plain,
            Site(lambda asked: redirect("http://second.test/"), serving(certificate)) as site,
        ):
            net = Net(NAMES, {PUBLIC: site.port, SECOND: plain.port})
            trust = ssl.create_default_context(cafile=str(certificate))
            client = Client(NetLimits(), (), net.resolve, backend=net, tls=trust)
            response = await client.request("https://public.test/")
            assert (response.status, response.not_followed) == (302, "http://second.test/")
            assert plain.met == 0

    asyncio.run(attack())


def test_a_check_of_the_caller_is_asked_where_a_redirect_leads_elsewhere() -> None:
    async def attack() -> None:
        async with (
            Site() as thief,
            Site(lambda asked: redirect("http://second.test/")) as site,
        ):
            net = Net(NAMES, {PUBLIC: site.port, SECOND: thief.port})

            def check(url: str) -> str | None:
                return None if "public.test" in url else f"{url} is not for you"

            client = Client(NetLimits(), (), net.resolve, backend=net)
            error = await fails(client, "http://public.test/", check=check)
            assert (error.code, thief.met) == ("policy_denied", 0)

    asyncio.run(attack())


def test_the_backend_of_the_library_is_the_one_that_connects_by_default() -> None:
    """The tests above put their own in place; this one goes the whole way."""

    async def attack() -> None:
        async with Site(lambda asked: ok(b"whole")) as site:
            client = Client(allow=(f"127.0.0.1:{site.port}",))
            assert (await client.request(f"http://127.0.0.1:{site.port}/")).body == b"whole"

    asyncio.run(attack())
    assert isinstance(Guard(), httpcore2.AsyncNetworkBackend)
