"""Tavily: a search that gives the passages of pages, asked with a key.

    POST /search   {"query": "tides", "max_results": 5, "search_depth": "basic"}
    Authorization: Bearer …

A query has at most 400 characters, an answer at most 20 pages.
"""

from __future__ import annotations

from callblocks.runtime.net.client import Client
from callblocks.toolkits.web.asking import Found
from callblocks.toolkits.web.provider import Provider, first_words, text_of

__all__ = ("Tavily",)

_LENGTH = 400
_MOST = 20


class Tavily:
    """Tavily's API, or a compatible one at another address."""

    name = "tavily"

    def __init__(self, address: str, client: Client, key: str) -> None:
        self._provider = Provider(self.name, address, client)
        self._key = key

    async def search(self, query: str, limit: int) -> list[Found]:
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
            Found(
                url=text_of(row, "url"),
                title=text_of(row, "title"),
                snippet=text_of(row, "content"),
                date=text_of(row, "published_date")[:16],
            )
            for row in rows
        ]
