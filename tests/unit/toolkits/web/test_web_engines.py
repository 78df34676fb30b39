"""Each adapter against a server that takes only what its engine documents."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.net.client import Client
from callblocks.toolkits.web.engines import (
    ENGINES,
    FoundPage,
    Provider,
    SearchAdapter,
    ask,
    read_engines,
)
from support.search_providers import KEY, BraveServer, SearxngServer, TavilyServer
from support.sites import ok, redirect
from support.web_world import served

SERVERS: dict[str, Any] = {"searxng": SearxngServer, "brave": BraveServer, "tavily": TavilyServer}
ROWS = {
    "searxng": {"content": "High &amp; low", "publishedDate": "2024-05-01T10:00:00"},
    "brave": {"description": "High &amp; low", "page_age": "2024-05-01T10:00:00"},
    "tavily": {"content": "High & low", "published_date": "2024-05-01", "score": 0.9},
}


def rows_of(name: str, count: int) -> list[dict[str, Any]]:
    """Rows as this engine has them."""
    titled = {"title": "Tides", **ROWS[name]}
    return [{"url": f"https://tides.example/{at}", **titled} for at in range(count)]


def engine(name: str, port: int, **more: str) -> SearchAdapter:
    """The adapter, as the environment sets it up."""
    address = f"http://127.0.0.1:{port}"
    keys = {"CALLBLOCKS_BRAVE_KEY": KEY, "TAVILY_API_KEY": KEY}
    (adapter,) = read_engines({"CALLBLOCKS_SEARCH": f"{name}={address}", **keys, **more})
    return adapter


def fault(adapter: SearchAdapter, query: str = "tides") -> ToolError:
    with pytest.raises(ToolError) as raised:
        asyncio.run(ask([adapter], query, 5))
    return raised.value


def test_there_is_a_server_for_each_engine() -> None:
    assert tuple(SERVERS) == ENGINES


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_asked_as_it_documents_and_its_pages_are_read(name: str) -> None:
    server = SERVERS[name](rows_of(name, 30))
    with served(server) as site:
        found = asyncio.run(engine(name, site.port).search("high tide & more", 3))
    assert server.refused == []
    assert found == [
        FoundPage(f"https://tides.example/{at}", "Tides", "High & low", "2024-05-01")
        for at in range(3)
    ]
    (asked,) = server.asked
    assert "high tide & more" in asked.values()


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "query", ["word " * 300, "x" * 2_000, "ä" * 400, "\ud800 \0 \r\nX-Evil: 1", "a&count=99#b"]
)
def test_any_query_is_one_that_the_engine_takes(name: str, query: str) -> None:
    server = SERVERS[name](rows_of(name, 1))
    with served(server) as site:
        _, rows = asyncio.run(ask([engine(name, site.port)], query, 20))
    assert (server.refused, len(rows)) == ([], 1)


@pytest.mark.parametrize("name", ENGINES)
def test_what_finds_nothing_is_no_fault(name: str) -> None:
    with served(SERVERS[name]()) as site:
        assert asyncio.run(engine(name, site.port).search("tides", 3)) == []


PLANTED = {
    "searxng": ("/search", {"q": "a", "format": "json"}, ["limit", "pageno=0", "time_range=hour"]),
    "brave": ("/res/v1/web/search", {"q": "a"}, ["count=21", "offset=10", "limit=5", "q="]),
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_servers_refuse_what_is_not_documented(name: str) -> None:
    """Else the tests above could not fail."""
    path, right, planted = PLANTED[name]
    server = SERVERS[name]()
    headers = {"X-Subscription-Token": KEY}
    with served(server) as site:
        address = f"http://127.0.0.1:{site.port}"
        provider = Provider(name, address, Client(allow=(f"127.0.0.1:{site.port}",)))
        asyncio.run(provider.get(path, right, ("web", "results"), headers))
        for wrong in planted:
            key, _, value = wrong.partition("=")
            with pytest.raises(ToolError):
                asyncio.run(provider.get(path, {**right, key: value}, ("results",), headers))
        with pytest.raises(ToolError):
            asyncio.run(provider.get("/other", right, ("results",), headers))
    assert len(server.refused) == len(planted) + 1


def test_the_server_of_tavily_refuses_what_is_not_documented() -> None:
    server = TavilyServer()
    right = {"query": "a", "max_results": 5}
    bearer = {"Authorization": f"Bearer {KEY}"}
    planted = ({"max_results": 21}, {"limit": 5}, {"max_results": "5"}, {"topic": "all"})
    with served(server) as site:
        client = Client(allow=(f"127.0.0.1:{site.port}",))
        provider = Provider("tavily", f"http://127.0.0.1:{site.port}", client)
        asyncio.run(provider.post("/search", right, ("results",), bearer))
        for wrong in planted:
            with pytest.raises(ToolError):
                asyncio.run(provider.post("/search", {**right, **wrong}, ("results",), bearer))
        with pytest.raises(ToolError):
            asyncio.run(provider.post("/search", {**right, "api_key": KEY}, ("results",), {}))
    assert len(server.refused) == len(planted) + 1


SECRET = b"the words of the server, " + KEY.encode()
ANSWERS = {
    "401": (ok(SECRET, 401), "sign_in_needed"),
    "402": (ok(SECRET, 402), "quota_exceeded"),
    "403": (ok(SECRET, 403), "forbidden"),
    "429": (ok(SECRET, 429, retry_after="30"), "quota_exceeded"),
    "432": (ok(SECRET, 432), "quota_exceeded"),
    "422": (ok(SECRET, 422), "service_unavailable"),
    "500": (ok(SECRET, 500), "service_unavailable"),
    "html": (ok(b"<html>" + SECRET, content_type="text/html"), "service_unavailable"),
    "half": (ok(b'{"results": [{"url": "https://a'), "service_unavailable"),
    "bytes": (ok(b"\xff\xfe\0"), "service_unavailable"),
    "deep": (ok(b'{"results":' * 5_000), "service_unavailable"),
    "list": (ok(b"[1, 2]"), "service_unavailable"),
    "text": (ok(b'{"results": "none", "web": "none"}'), "service_unavailable"),
    "large": (ok(b"x" * 5_000_000), "response_too_large"),
    "away": (redirect("http://10.0.0.1/"), "address_refused"),
    "cut": (b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{", "network_error"),
}


@pytest.mark.parametrize("case", ANSWERS)
@pytest.mark.parametrize("name", ["brave", "tavily"])
def test_what_goes_wrong_has_a_code_and_tells_no_key(name: str, case: str) -> None:
    answer, code = ANSWERS[case]
    with served(SERVERS[name](answer=answer)) as site:
        error = fault(engine(name, site.port))
    assert error.code == code
    assert KEY not in repr((error, error.message, error.details))
    assert "the words of the server" not in error.message
    assert ("30 seconds" in error.message) == (case == "429")


def test_rows_that_are_none_are_passed_over() -> None:
    odd = [1, None, {"url": 5}, {"title": "x"}, {"url": "javascript:alert(1)"}, {"url": ["a"]}]
    server = SearxngServer([*odd, *rows_of("searxng", 1)])
    with served(server) as site:
        _, rows = asyncio.run(ask([engine("searxng", site.port)], "tides", 20))
    assert [row["url"] for row in rows] == ["https://tides.example/0"]


def test_a_server_of_ones_own_without_json_says_so() -> None:
    with served(SearxngServer(formats=("html",))) as site:
        error = fault(engine("searxng", site.port))
    assert (error.code, "JSON is switched off" in error.message) == ("forbidden", True)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("google", "not known"),
        ("searxng", "needs an address"),
        ("searxng=searx.example.org", "needs an address"),
        ("searxng=https://me:hidden@searx.example.org", "needs an address"),
        ("searxng=https://searx.example.org/?key=hidden", "needs an address"),
        ("brave", "needs a key"),
        ("brave=http://search.example.org", "must be https"),
        ("tavily=file:///etc/passwd", "needs an address"),
    ],
)
def test_a_setting_that_cannot_be_used_says_what_to_correct(setting: str, why: str) -> None:
    with pytest.raises(ToolError, match=why) as raised:
        read_engines({"CALLBLOCKS_SEARCH": setting, "BRAVE_API_KEY": "a\nb"})
    assert raised.value.code == "bad_setting"
    assert "hidden" not in raised.value.message


def test_engines_are_those_that_are_named_in_that_order() -> None:
    keys = {"BRAVE_API_KEY": KEY, "TAVILY_API_KEY": KEY}
    assert read_engines(keys) == ()
    named = "tavily  searxng=https://searx.example.org/sub/ brave"
    engines = read_engines({"CALLBLOCKS_SEARCH": named, **keys})
    assert [one.name for one in engines] == ["tavily", "searxng", "brave"]
    assert KEY not in repr(engines)
