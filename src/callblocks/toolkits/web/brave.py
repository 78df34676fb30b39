"""Brave Search: an index of its own, asked with a key.

    GET /res/v1/web/search?q=tides&count=5&text_decorations=false&result_filter=web
    X-Subscription-Token: …

A query has at most 400 characters and 50 words, an answer at most 20 pages.
"""

from __future__ import annotations

from callblocks.runtime.net.client import Client
from callblocks.toolkits.web.asking import Found
from callblocks.toolkits.web.provider import Provider, first_words, text_of

__all__ = ("Brave",)

_WORDS = 50
_LENGTH = 400
_MOST = 20


class Brave:
    """Brave's API, or a compatible one at another address."""

    name = "brave"

    def __init__(self, address: str, client: Client, key: str) -> None:
        self._provider = Provider(self.name, address, client)
        self._key = key

    async def search(self, query: str, limit: int) -> list[Found]:
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
            Found(
                url=text_of(row, "url"),
                title=text_of(row, "title"),
                snippet=text_of(row, "description"),
                date=text_of(row, "page_age")[:10],
            )
            for row in rows
        ]
