"""Web search through one adapter per engine.

    class Engine:
        name = "engine"
        async def search(self, query: str, limit: int) -> list[Found]: ...

An adapter raises `ToolError` with a code such as `service_unavailable`, `quota_exceeded` or
`network_error`; the next adapter is tried then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.net.url import read_url

__all__ = ("PER_TOKEN", "Found", "SearchAdapter", "ask", "one_line", "within")

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


class Found(msgspec.Struct, frozen=True):
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

    async def search(self, query: str, limit: int) -> list[Found]:
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


def _is_page(page: Found) -> bool:
    """Tell if a result has a readable URL of acceptable length."""
    try:
        read_url(page.url)
    except ToolError:
        return False
    return len(page.url) <= _URL


def _shown(page: Found) -> dict[str, Any]:
    told = {"title": one_line(page.title, _TITLE), "url": page.url, "date": one_line(page.date, 40)}
    kept = {key: value for key, value in told.items() if value}
    return kept | {"snippet": one_line(page.snippet, _SNIPPET)}


def one_line(text: str, length: int) -> str:
    """Return a text as one line without control characters."""
    return " ".join(_CONTROL.sub(" ", text).split())[:length]
