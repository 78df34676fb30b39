"""The search engines that a person configured, in the order of the setting.

    CALLBLOCKS_SEARCH="searxng=http://127.0.0.1:8888 brave tavily"
    CALLBLOCKS_BRAVE_KEY=…    or BRAVE_API_KEY
    CALLBLOCKS_TAVILY_KEY=…   or TAVILY_API_KEY

An engine that needs a key has a default address; `brave=https://…` names another. Private addresses
are permitted here, because a person chose them and not a model. A key is sent over https or to this
machine only.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast
from urllib.parse import urlencode

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.urls import Url, read_url
from callblocks.guard.net.client import Client, NetLimits, Response

__all__ = (
    "ENGINES",
    "PER_TOKEN",
    "SETTING",
    "Brave",
    "FoundPage",
    "Provider",
    "SearXNG",
    "SearchAdapter",
    "Tavily",
    "ask",
    "first_words",
    "one_line",
    "read_engines",
    "text_of",
    "within",
)

# --- Requests to a search engine's server, with failures mapped to codes ---
#
#     rows = await Provider("brave", address, client).get(path, parameters, ("web", "results"))
#
# Messages contain neither text of the server nor the key.

_JSON = "application/json"
_CODES = {
    401: ("sign_in_needed", "does not take the key; a person must set a valid one"),
    402: ("quota_exceeded", "wants to be paid; a person must look at the account"),
    403: ("forbidden", "refuses to answer: the key may not search, or JSON is switched off there"),
    429: ("quota_exceeded", "takes no more queries for now"),
    # Tavily's own: the limit of a plan, and that of paying as you go.
    432: ("quota_exceeded", "takes no more queries: the limit of the plan is reached"),
    433: ("quota_exceeded", "takes no more queries: the limit of spending is reached"),
}


class Provider:
    """The server of one engine; the address has no trailing slash."""

    def __init__(self, name: str, address: str, client: Client) -> None:
        self.name = name
        self._address = address
        self._client = client

    async def get(
        self,
        path: str,
        parameters: Mapping[str, str | int],
        where: Sequence[str],
        headers: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the rows of the answer to a GET; `where` is the path of keys to them."""
        url = f"{self._address}{path}?{urlencode(parameters)}"
        given = {"Accept": _JSON, **(headers or {})}
        return self._rows(await self._client.request(url, headers=given), where)

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],
        where: Sequence[str],
        headers: Mapping[str, str],
    ) -> list[dict[str, Any]]:
        """Return the rows of the answer to a POST of JSON."""
        given = {"Accept": _JSON, "Content-Type": _JSON, **headers}
        sent = msgspec.json.encode(body)
        response = await self._client.request(
            f"{self._address}{path}", "POST", headers=given, body=sent
        )
        return self._rows(response, where)

    def _rows(self, response: Response, where: Sequence[str]) -> list[dict[str, Any]]:
        if response.status != 200:
            raise self._refused(response)
        try:
            value = msgspec.json.decode(response.body)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise self._odd("with something that is no JSON") from error
        for name in where:
            if not isinstance(value, dict):
                raise self._odd("in a form that is not known")
            value = cast("dict[str, Any]", value).get(name)
            # Engines omit the list if nothing was found.
            if value is None:
                return []
        if not isinstance(value, list):
            raise self._odd("in a form that is not known")
        rows = cast("list[Any]", value)
        return [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]

    def _refused(self, response: Response) -> ToolError:
        code, words = _CODES.get(response.status, ("service_unavailable", ""))
        if not words:
            return self._odd(f"with status {response.status}")
        # Only a short number of seconds is repeated in the message; the header is text of the
        # server.
        wait = response.header("retry-after")
        later = f"; try again in {wait} seconds" if wait.isdecimal() and len(wait) < 6 else ""
        return ToolError(code, f"{self.name} {words}{later}", status=response.status)

    def _odd(self, how: str) -> ToolError:
        return ToolError("service_unavailable", f"{self.name} answered {how}")


def text_of(row: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is a string, with HTML entities decoded, or ""."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value:
            return html.unescape(value)
    return ""


def first_words(query: str, words: int, length: int) -> str:
    """Cut a query to the length that an engine accepts."""
    return " ".join(query.split()[:words])[:length].strip()


# --- Web search through one adapter per engine ---
#
#     class Engine:
#         name = "engine"
#         async def search(self, query: str, limit: int) -> list[Found]: ...
#
# An adapter raises `ToolError` with a code such as `service_unavailable`, `quota_exceeded` or
# `network_error`; the next adapter is tried then.

# Characters per token, a rough estimate for budgets.
PER_TOKEN = 4

_QUERY = 2_000
_TITLE = 200
_URL = 2_000
_SNIPPET = 1_000
_LEAST = 40
# C0 and C1 controls, line separators, bidirectional overrides and surrogates. Titles and snippets
# are foreign: overrides could reverse a line in a terminal, and newlines could imitate structure.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


class FoundPage(msgspec.Struct, frozen=True):
    """A page that an engine found; `date` is an ISO day, or "" if it is unknown."""

    url: str
    title: str
    snippet: str = ""
    date: str = ""


class SearchAdapter(Protocol):
    """A search engine."""

    @property
    def name(self) -> str:
        """The engine's name, which the result mentions."""
        ...

    async def search(self, query: str, limit: int) -> list[FoundPage]:
        """Return at most `limit` pages, best first."""
        ...


async def ask(
    adapters: Sequence[SearchAdapter], query: str, limit: int
) -> tuple[str, list[dict[str, Any]]]:
    """Return the name and the results of the first engine that answers."""
    failed: list[ToolError] = []
    plain = one_line(query, _QUERY)
    for adapter in adapters:
        try:
            found = await adapter.search(plain, limit)
        except ToolError as error:
            failed.append(error)
            continue
        # An engine may return more than it was asked for, or results that are no pages; the limit
        # is applied after those are dropped.
        pages = [_shown(page) for page in found if _is_page(page)]
        return adapter.name, pages[:limit]
    raise _none_answered(failed)


def _none_answered(failed: Sequence[ToolError]) -> ToolError:
    """Combine the failures of all engines: the code of the last, the messages of all."""
    if not failed:
        return ToolError("service_unavailable", "there is no search engine to ask")
    words = "; ".join(dict.fromkeys(error.message for error in failed))
    return ToolError(failed[-1].code, words, **failed[-1].details)


def within(results: list[dict[str, Any]], tokens: int) -> tuple[list[dict[str, Any]], bool]:
    """Return the results that fit into a number of tokens, the last one cut, and if all fitted."""
    room, kept = tokens * PER_TOKEN, list[dict[str, Any]]()
    for result in results:
        fixed = sum(len(str(value)) for key, value in result.items() if key != "snippet")
        left = room - fixed
        # A result with fewer characters than this tells nothing. The first result is always kept,
        # so that a small budget does not look like an empty search.
        if kept and left < _LEAST:
            return kept, False
        snippet = result.get("snippet", "")
        if len(snippet) > left:
            cut = {**result, "snippet": f"{snippet[: max(0, left)]}…"}
            return [*kept, cut], False
        kept.append(result)
        room = left - len(snippet)
    return kept, True


def _is_page(page: FoundPage) -> bool:
    """Tell if a result has a readable URL of acceptable length."""
    try:
        read_url(page.url)
    except ToolError:
        return False
    return len(page.url) <= _URL


def _shown(page: FoundPage) -> dict[str, Any]:
    told = {"title": one_line(page.title, _TITLE), "url": page.url, "date": one_line(page.date, 40)}
    kept = {key: value for key, value in told.items() if value}
    return kept | {"snippet": one_line(page.snippet, _SNIPPET)}


def one_line(text: str, length: int) -> str:
    """Return a text as one line without control characters."""
    return " ".join(_CONTROL.sub(" ", text).split())[:length]


# --- Brave Search: an index of its own, asked with a key ---
#
#     GET /res/v1/web/search?q=tides&count=5&text_decorations=false&result_filter=web
#     X-Subscription-Token: …
#
# A query has at most 400 characters and 50 words, an answer at most 20 pages.

_WORDS = 50
_LENGTH = 400
_MOST = 20


class Brave:
    """Brave's API, or a compatible one at another address."""

    name = "brave"

    def __init__(self, address: str, client: Client, key: str) -> None:
        self._provider = Provider(self.name, address, client)
        self._key = key

    async def search(self, query: str, limit: int) -> list[FoundPage]:
        """Return at most `limit` pages, best first."""
        rows = await self._provider.get(
            "/res/v1/web/search",
            {
                "q": first_words(query, _WORDS, _LENGTH),
                "count": min(limit, _MOST),
                "text_decorations": "false",
                "result_filter": "web",
            },
            ("web", "results"),
            {"X-Subscription-Token": self._key},
        )
        return [
            FoundPage(
                url=text_of(row, "url"),
                title=text_of(row, "title"),
                snippet=text_of(row, "description"),
                date=text_of(row, "page_age")[:10],
            )
            for row in rows
        ]


# --- SearXNG: a self-hosted metasearch engine ---
#
#     GET /search?q=tides&format=json
#
# It needs no key. Its settings must list `json` among the formats; most public instances do not.
# The server decides how many results it returns.


class SearXNG:
    """One SearXNG server."""

    name = "searxng"

    def __init__(self, address: str, client: Client) -> None:
        self._provider = Provider(self.name, address, client)

    async def search(self, query: str, limit: int) -> list[FoundPage]:
        """Return at most `limit` pages, best first."""
        asked = {"q": query, "format": "json"}
        rows = await self._provider.get("/search", asked, ("results",))
        return [
            FoundPage(
                url=text_of(row, "url"),
                title=text_of(row, "title"),
                snippet=text_of(row, "content"),
                date=text_of(row, "publishedDate")[:10],
            )
            for row in rows[:limit]
        ]


# --- Tavily: a search that gives the passages of pages, asked with a key ---
#
#     POST /search   {"query": "tides", "max_results": 5, "search_depth": "basic"}
#     Authorization: Bearer …
#
# A query has at most 400 characters, an answer at most 20 pages.


class Tavily:
    """Tavily's API, or a compatible one at another address."""

    name = "tavily"

    def __init__(self, address: str, client: Client, key: str) -> None:
        self._provider = Provider(self.name, address, client)
        self._key = key

    async def search(self, query: str, limit: int) -> list[FoundPage]:
        """Return at most `limit` pages, best first."""
        rows = await self._provider.post(
            "/search",
            {
                "query": first_words(query, _LENGTH, _LENGTH),
                "max_results": min(limit, _MOST),
                "search_depth": "basic",
                "topic": "general",
            },
            ("results",),
            {"Authorization": f"Bearer {self._key}"},
        )
        return [
            FoundPage(
                url=text_of(row, "url"),
                title=text_of(row, "title"),
                snippet=text_of(row, "content"),
                date=text_of(row, "published_date")[:16],
            )
            for row in rows
        ]


# --- The search engines that a person configured, in the order of the setting ---

# The environment variable that names the engines.
SETTING = "CALLBLOCKS_SEARCH"

# The engines that are known.
ENGINES = ("searxng", "brave", "tavily")

_KEYED: dict[str, tuple[str, Callable[[str, Client, str], SearchAdapter]]] = {
    "brave": ("https://api.search.brave.com", Brave),
    "tavily": ("https://api.tavily.com", Tavily),
}
# Printable ASCII only: a line break in a key could inject a header.
_KEY = re.compile(r"[!-~]{1,500}")
_LOCAL = ("127.0.0.1", "::1", "localhost")
_LIMITS = NetLimits(body=4 * 1024 * 1024, redirects=3, connect=5.0, read=15.0, deadline=20.0)


def read_engines(environment: Mapping[str, str]) -> tuple[SearchAdapter, ...]:
    """Return the engines that the environment names; `bad_setting` if the setting is malformed."""
    return tuple(_engine(word, environment) for word in environment.get(SETTING, "").split())


def _engine(word: str, environment: Mapping[str, str]) -> SearchAdapter:
    name, _, address = word.partition("=")
    if name == "searxng":
        url = _address(name, address)
        return SearXNG(str(url).rstrip("/"), _client(url))
    if name not in _KEYED:
        known = ", ".join(ENGINES)
        raise _bad(f"it names an engine that is not known; there are: {known}")
    home, make = _KEYED[name]
    url = _address(name, address or home)
    if url.scheme == "http" and url.host not in _LOCAL:
        raise _bad(f"the address of {name} must be https: a key goes there")
    return make(str(url).rstrip("/"), _client(url), _key(name, environment))


def _address(name: str, address: str) -> Url:
    # The message does not repeat the address: it may contain a password.
    why = f"{name} needs an address: {name}=https://search.example.org"
    try:
        url = read_url(address)
    except ToolError as error:
        raise _bad(why) from error
    if "?" in url.target:
        raise _bad(why)
    return url


def _client(url: Url) -> Client:
    host = f"[{url.host}]" if ":" in url.host else url.host
    # The net guard refuses private addresses; this one host and port is exempt, for this client
    # alone.
    return Client(_LIMITS, allow=(f"{host}:{url.port}",))


def _key(name: str, environment: Mapping[str, str]) -> str:
    own, usual = f"CALLBLOCKS_{name.upper()}_KEY", f"{name.upper()}_API_KEY"
    key = (environment.get(own) or environment.get(usual, "")).strip()
    if not _KEY.fullmatch(key):
        raise _bad(f"{name} needs a key; set {own}")
    return key


def _bad(why: str) -> ToolError:
    return ToolError("bad_setting", f"{SETTING} cannot be used: {why}; a person must correct it")
