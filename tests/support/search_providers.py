"""Servers that speak the documented APIs of search engines, and reject anything else.

    with served(SearxngServer(rows)) as site: …

A request with a parameter, a value or a header that the documentation does not know is refused,
as is one without what it needs. `refused` says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from support.sites import Asked, ok

__all__ = ("KEY", "BraveServer", "SearxngServer", "TavilyServer")

KEY = "tvly-0123456789abcdefghij"

Check = Callable[[Any], bool]


def one_of(*choices: Any) -> Check:
    return lambda value: value in choices


def number(low: int, high: int) -> Check:
    return lambda value: str(value).isdecimal() and low <= int(value) <= high


def words(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def flag(value: Any) -> bool:
    return value in ("true", "false", "0", "1")


def names(*known: str) -> Check:
    return lambda value: {*value.split(",")} <= {*known}


class Server:
    """Checks a request by a table of its parameters, and answers with rows."""

    paths: Sequence[str] = ()
    methods: Sequence[str] = ()
    needed = "q"
    parameters: Mapping[str, Check] = {}
    wrong = 400

    def __init__(self, rows: Sequence[dict[str, Any]] = (), answer: bytes | None = None) -> None:
        self.rows = list(rows)
        self.answer = answer
        self.refused: list[str] = []
        self.asked: list[dict[str, Any]] = []

    def __call__(self, asked: Asked) -> bytes:
        if self.answer is not None:
            return self.answer
        parts = urlsplit(asked.target)
        given = self.given(asked, parts.query)
        fault = self.fault(asked, parts.path, given)
        if fault is not None:
            self.refused.append(fault[1])
            return _json({"error": fault[1]}, fault[0])
        self.asked.append(given)
        return _json(self.shown(given), 200)

    def given(self, asked: Asked, query: str) -> dict[str, Any]:
        return dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))

    def fault(self, asked: Asked, path: str, given: dict[str, Any]) -> tuple[int, str] | None:
        if path not in self.paths or asked.method not in self.methods:
            return 404, f"no such request: {asked.method} {path}"
        if (denied := self.denied(asked)) is not None:
            return denied
        if asked.headers.get("accept") not in ("application/json", "*/*"):
            return 406, "it accepts no JSON"
        if self.needed not in given:
            return self.wrong, f"{self.needed} is missing"
        for name, value in given.items():
            check = self.parameters.get(name)
            if check is None or not check(value):
                return self.wrong, f"{name}={value!r} is not documented"
        return None

    def denied(self, asked: Asked) -> tuple[int, str] | None:
        return None

    def shown(self, given: dict[str, Any]) -> Any:
        return {"results": self.rows}


class SearxngServer(Server):
    """docs.searxng.org/dev/search_api: GET or POST, / or /search."""

    paths = ("/", "/search")
    methods = ("GET",)
    parameters: Mapping[str, Check] = {
        "q": words,
        "categories": words,
        "engines": words,
        "language": words,
        "pageno": number(1, 1_000),
        "time_range": one_of("day", "month", "year"),
        "format": one_of("json", "csv", "rss"),
        "safesearch": one_of("0", "1", "2"),
        "results_on_new_tab": one_of("0", "1"),
        "image_proxy": one_of("True", "False"),
        "autocomplete": words,
        "theme": one_of("simple"),
        "enabled_plugins": words,
        "disabled_plugins": words,
        "enabled_engines": words,
        "disabled_engines": words,
    }

    def __init__(self, *given: Any, formats: Sequence[str] = ("html", "json"), **more: Any) -> None:
        super().__init__(*given, **more)
        self.formats = formats

    def fault(self, asked: Asked, path: str, given: dict[str, Any]) -> tuple[int, str] | None:
        if given.get("format", "html") not in self.formats:
            return 403, "that format is not switched on"
        return super().fault(asked, path, given)

    def shown(self, given: dict[str, Any]) -> Any:
        found = {"query": given["q"], "number_of_results": 0, "results": self.rows, "answers": []}
        return {**found, "suggestions": [], "unresponsive_engines": []}


class BraveServer(Server):
    """api-dashboard.search.brave.com: web search, GET."""

    paths = ("/res/v1/web/search",)
    methods = ("GET",)
    wrong = 422
    parameters: Mapping[str, Check] = {
        "q": lambda value: 1 <= len(value) <= 400 and len(value.split()) <= 50,
        "country": lambda value: len(value) == 2,
        "search_lang": words,
        "ui_lang": words,
        "count": number(1, 20),
        "offset": number(0, 9),
        "safesearch": one_of("off", "moderate", "strict"),
        "freshness": words,
        "text_decorations": flag,
        "spellcheck": flag,
        "result_filter": names(
            *("discussions", "faq", "infobox", "news", "query", "summarizer", "videos", "web"),
            "locations",
        ),
        "goggles": words,
        "units": one_of("metric", "imperial"),
        "extra_snippets": flag,
        "summary": flag,
    }

    def denied(self, asked: Asked) -> tuple[int, str] | None:
        token = asked.headers.get("x-subscription-token")
        return None if token == KEY else (401, "the subscription token is not valid")

    def shown(self, given: dict[str, Any]) -> Any:
        count = int(given.get("count", 20))
        if not self.rows:
            return {"type": "search", "query": {"original": given["q"]}}
        return {"type": "search", "web": {"type": "search", "results": self.rows[:count]}}


class TavilyServer(Server):
    """docs.tavily.com: POST /search."""

    paths = ("/search",)
    methods = ("POST",)
    needed = "query"
    parameters: Mapping[str, Check] = {
        "query": lambda value: words(value) and len(value) <= 400,
        "search_depth": one_of("advanced", "basic", "fast", "ultra-fast"),
        "chunks_per_source": number(1, 3),
        "max_results": lambda value: isinstance(value, int) and 0 <= value <= 20,
        "topic": one_of("general", "news", "finance"),
        "time_range": one_of("day", "week", "month", "year", "d", "w", "m", "y"),
        "start_date": words,
        "end_date": words,
        "include_answer": one_of(True, False, "basic", "advanced"),
        "include_raw_content": one_of(True, False, "markdown", "text"),
        "include_images": one_of(True, False),
        "include_image_descriptions": one_of(True, False),
        "include_favicon": one_of(True, False),
        "include_domains": lambda value: isinstance(value, list),
        "exclude_domains": lambda value: isinstance(value, list),
        "country": words,
        "auto_parameters": one_of(True, False),
        "include_usage": one_of(True, False),
    }

    def given(self, asked: Asked, query: str) -> dict[str, Any]:
        if asked.headers.get("content-type") != "application/json" or query:
            return {}
        body = json.loads(asked.body or b"{}")
        return body if isinstance(body, dict) else {}

    def denied(self, asked: Asked) -> tuple[int, str] | None:
        token = asked.headers.get("authorization")
        return None if token == f"Bearer {KEY}" else (401, "missing or invalid API key")

    def shown(self, given: dict[str, Any]) -> Any:
        found = self.rows[: given.get("max_results", 5)]
        return {"query": given["query"], "results": found, "images": [], "response_time": 1.0}


def _json(value: Any, status: int) -> bytes:
    return ok(json.dumps(value).encode(), status, content_type="application/json")
