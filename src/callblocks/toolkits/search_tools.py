"""The tools that find things: in the workspace's files, and in the web.

search        query, scope, limit                 passages with the found words marked
file_ingest   path, recursive, title, tags        files into the index, PDF and DOCX too
web_search    query, maxTokens, maxResults        pages, or passages where no engine is set up
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import Field

from callblocks.guard.files.root import Root
from callblocks.toolkits.file_tools import PathText
from callblocks.toolkits.search.query import path_of, read_scope, tag_of
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

if TYPE_CHECKING:
    from callblocks.toolkits.search.find_passages import Look
    from callblocks.toolkits.web.engines import SearchAdapter

__all__ = ("Engines", "finding_tools", "looking")

# Returns the search engines; none means the workspace's own index.
Engines: TypeAlias = "Callable[[], tuple[SearchAdapter, ...]]"

_TITLE = 200
_MINUTES = 15

_Query = Annotated[str, Field(max_length=2_000)]
_Tag = Annotated[str, Field(min_length=1, max_length=50)]
_Tags = Annotated[list[_Tag], Field(max_length=20)]
_Limit = Annotated[int, Field(ge=1, le=100)]
_Results = Annotated[int, Field(ge=1, le=20)]
_Tokens = Annotated[int, Field(ge=50, le=50_000)]


def finding_tools(root: Root, engines: Engines = tuple) -> tuple[Tool, ...]:
    """Return the tools for one workspace; `engines` returns the engines in their order."""
    look = looking(root)
    return (_search(root, look), _ingest(root), _web_search(look, engines))


def looking(root: Root) -> Callable[[], Look]:
    """Return a function that creates the workspace's `Look` at its first call."""

    @cache
    def look() -> Look:
        from callblocks.toolkits.search.find_passages import Look

        return Look(root)

    return look


def _search(root: Root, look: Callable[[], Look]) -> Tool:
    def precheck(scope: str, **_: object) -> None:
        read_scope(scope, root)

    @tool(
        read_only=True,
        precheck=precheck,
        origin="builtin",
        paths=lambda given: [path_of(given["scope"])],
    )
    def search(
        query: _Query, context: Context, scope: str = "all", limit: _Limit = 10
    ) -> dict[str, Any]:
        """Find passages in the workspace's files and documents, best first, by their words.

        Text, Markdown and CSV files are found at once; PDF, Word and HTML files after
        `file_ingest`. Words are looked for without case and accents. Found words stand in «».

        Args:
            query: words that must all be there, such as tide table; "low tide" is a phrase,
                a OR b either, -word leaves out, tid* starts so
            scope: all, files, documents (those of the drive), a kind (markdown, text, csv, html,
                pdf, docx), a #tag, or a folder or file such as notes
            limit: how many passages to give
        """
        return {"query": query, "results": look().find(query, scope, limit, context)}

    return search


def _ingest(root: Root) -> Tool:
    def precheck(path: str, **_: object) -> None:
        root.stat(path)

    @tool(
        destructive=False,
        precheck=precheck,
        idempotent=True,
        timeout=60.0 * _MINUTES,
        origin="builtin",
    )
    def file_ingest(
        path: PathText,
        context: Context,
        recursive: bool = True,
        title: Annotated[str, Field(max_length=_TITLE)] = "",
        tags: _Tags = [],  # noqa: B006 the schema shows it, and nothing changes it
    ) -> dict[str, Any]:
        """Read a file or a folder into the index, so that `search` finds what it says.

        Takes text, Markdown, CSV, HTML, PDF and DOCX. What did not change is not read again; a
        file in a folder that cannot be read is skipped, and the result says why.

        Args:
            path: the file or folder, from the workspace down, such as reports/2024.pdf
            recursive: whether folders in the folder are read too
            title: what to call the file in results; for one file only
            tags: words to find it by, such as harbour; search with scope #harbour
        """
        from callblocks.toolkits.search.refresh import IngestRequest, ingest

        kept = tuple(dict.fromkeys(tag_of(tag) for tag in tags))
        asked = IngestRequest(path=path, recursive=recursive, title=title, tags=kept)
        return ingest(root, asked, context)

    return file_ingest


def _web_search(look: Callable[[], Look], engines: Engines) -> Tool:
    @tool(read_only=True, open_world=True, kind="source", origin="builtin")
    async def web_search(
        query: _Query, context: Context, maxTokens: _Tokens = 2_000, maxResults: _Results = 8
    ) -> dict[str, Any]:
        """Search the web; where no engine is set up, the workspace's own files, and it says so.

        Args:
            query: what to look for, such as tide table Whitby
            maxTokens: how long the result may be, at four characters a token
            maxResults: how many pages to name
        """
        from callblocks.toolkits.web.engines import ask, within

        if adapters := engines():
            engine, results = await ask(adapters, query, maxResults)
            context.taint(f"the results of {engine}")
        else:
            engine, results = "workspace", await look().instead(query, maxResults, context)
        kept, complete = within(results, maxTokens)
        if not complete:
            context.notice(
                "results_left_out", "the result was cut to its maxTokens; give more, or ask closer"
            )
        return {"query": query, "engine": engine, "results": kept}

    return web_search
