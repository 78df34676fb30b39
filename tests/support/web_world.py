"""The web tools in a small network whose server answers as told.

with a_web(folder, {"/tides": html("High at six")}) as web:
    web.fetch("/tides")["/tides"]["content"]
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from callblocks.guard.files.root import Root
from callblocks.toolkits.web.engines import SearchAdapter
from callblocks.toolkits.web.web_tools import WebSettings, web_tools
from callblocks.tools.context import Context
from callblocks.tools.tool import Tool
from support.sites import PUBLIC, SECOND, Asked, Net, Site, ok

__all__ = ("HOST", "Answers", "Web", "a_web", "html", "served", "text")

HOST = "http://public.test"
NAMES = {"public.test": [[PUBLIC]], "second.test": [[SECOND]], "inside.test": [["10.0.0.7"]]}

Answers = Mapping[str, Any] | Callable[[Asked], Any]


def html(body: str, head: str = "", **headers: str) -> bytes:
    """A page of HTML."""
    page = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"
    headers.setdefault("content_type", "text/html; charset=utf-8")
    return ok(page.encode(), 200, **headers)


def text(words: str | bytes, **headers: str) -> bytes:
    """A page of plain text."""
    body = words.encode() if isinstance(words, str) else words
    headers.setdefault("content_type", "text/plain")
    return ok(body, 200, **headers)


@contextmanager
def served(answers: Answers) -> Generator[Site]:
    """A server in a thread of its own, so that a test need not be asynchronous."""

    def answer(asked: Asked) -> Any:
        if callable(answers):
            return answers(asked)
        return answers.get(asked.target, ok(b"nothing here", 404))

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    site = Site(answer)
    try:
        asyncio.run_coroutine_threadsafe(site.__aenter__(), loop).result()
        try:
            yield site
        finally:
            asyncio.run_coroutine_threadsafe(site.__aexit__(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Web:
    """The tools, called as a runtime would; the last context and what it reported are kept."""

    def __init__(
        self,
        root: Root,
        site: Site,
        engines: Iterable[SearchAdapter],
        limits: dict[str, Any],
        settings: dict[str, Any],
    ) -> None:
        self.site = site
        self.net = Net(NAMES, {PUBLIC: site.port, SECOND: site.port})
        adapters = tuple(engines)
        client = self.net.client(**limits)
        tools = web_tools(root, client, lambda: adapters, WebSettings(**settings))
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools}
        self.context = Context()
        self.said: list[str] = []

    def fetch(self, *urls: str) -> dict[str, Any]:
        """The pages by their addresses; one that begins with a slash is of the server."""
        whole = [HOST + url if url.startswith("/") else url for url in urls]
        pages = self.call("web_fetch", urls=whole)["ret"]
        return {url: pages[full] for url, full in zip(urls, whole, strict=True)}

    def codes(self, *urls: str) -> dict[str, str]:
        """Why each page could not be read; "" where it could."""
        pages = self.fetch(*urls).items()
        return {url: page.get("error", {}).get("code", "") for url, page in pages}

    def search(self, *queries: str, n: int = 5) -> Any:
        """The rows of a search."""
        return self.call("web_search", queries=list(queries), n=n)["ret"]

    def call(self, name: str, **given: Any) -> Any:
        """The envelope of one call."""
        tool = self.tools[f"web_tools.{name}"]
        checked = tool.check(given)
        assert not checked.faults, checked.faults
        assert tool.function is not None
        self.said = []
        self.context = Context("c1", report=self.said.append)
        return asyncio.run(tool.function(**checked.values, context=self.context))

    @property
    def notices(self) -> list[str]:
        return [notice.code for notice in self.context.notices]

    @property
    def targets(self) -> list[str]:
        """What the server was asked for, but for what it wants of programs."""
        return [asked.target for asked in self.site.asked if asked.target != "/robots.txt"]


@contextmanager
def a_web(
    folder: Path,
    answers: Answers,
    *,
    engines: Iterable[SearchAdapter] = (),
    limits: dict[str, Any] | None = None,
    **settings: Any,
) -> Generator[Web]:
    """A web of one server in a workspace; `settings` are those of the tools."""
    with Root(folder) as root, served(answers) as site:
        yield Web(root, site, engines, {"deadline": 20.0, **(limits or {})}, settings)
