"""SearXNG: a self-hosted metasearch engine.

    GET /search?q=tides&format=json

It needs no key. Its settings must list `json` among the formats; most public instances do not. The
server decides how many results it returns.
"""

from __future__ import annotations

from callblocks.runtime.net.client import Client
from callblocks.toolkits.web.asking import Found
from callblocks.toolkits.web.provider import Provider, text_of

__all__ = ("SearXNG",)


class SearXNG:
    """One SearXNG server."""

    name = "searxng"

    def __init__(self, address: str, client: Client) -> None:
        self._provider = Provider(self.name, address, client)

    async def search(self, query: str, limit: int) -> list[Found]:
        """Return at most `limit` pages, best first."""
        asked = {"q": query, "format": "json"}
        rows = await self._provider.get("/search", asked, ("results",))
        return [
            Found(
                url=text_of(row, "url"),
                title=text_of(row, "title"),
                snippet=text_of(row, "content"),
                date=text_of(row, "publishedDate")[:10],
            )
            for row in rows[:limit]
        ]
