"""One search in a workspace: refresh the index, retrieve, taint, and explain."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

from callblocks.runtime.files.root import Root
from callblocks.toolkits.finding.finding import Answer, find, shown
from callblocks.toolkits.finding.index import Index
from callblocks.toolkits.finding.kinds import APART
from callblocks.toolkits.finding.known_files import name_of
from callblocks.toolkits.finding.query import Query, read_query
from callblocks.toolkits.finding.refreshing import Refresher
from callblocks.toolkits.finding.scope import Scope, read_scope
from callblocks.toolkits.finding.store import use_store
from callblocks.toolkits.workspace.opening import has_office
from callblocks.tools.context import Context, running_as

__all__ = ("Look",)

_NAMED = 3
_TAGS = 10
_SOME = (
    "no search engine is set up here: these are passages of the workspace's own files, not of the "
    "web"
)
_NONE = "no search engine is set up here, and no file of the workspace has all these words"


class Look:
    """The answers of `search`, and of `web_search` if there is no engine."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._refresher = Refresher(root)

    def find(self, text: str, within: str, limit: int, context: Context) -> list[dict[str, Any]]:
        """Return the best passages; notices go to `context`."""
        scope, query = read_scope(within, self._root), read_query(text)
        answer = self._answer(query, scope, limit, context)
        if not answer.found and query.groups and has_office(self._root):
            context.notice(
                "not_in_files",
                "nothing was found in files; mail is found by gmail_search, and what is in cells "
                "by sheets_read",
            )
        return [shown(found, answer.words) for found in answer.found]

    def _answer(
        self, query: Query, scope: Scope, limit: int, context: Context, *, partly: bool = True
    ) -> Answer:
        """Retrieve passages; without `partly` all words must match."""

        def work(store: sqlite3.Connection) -> Answer:
            index = Index(store)
            with running_as(None):
                # Reading a file into the index does not show it to the model, so it does not taint
                # the turn.
                left = self._refresher.refresh(index)
            # Taint after retrieval and before any passage is returned: what is tainted depends on
            # the files that were found.
            answer = find(index, query, scope, limit, context, partly=partly)
            self._taint(index, answer, left, context)
            _tell(query, answer, left, context)
            self._tell_of_tag(index, scope, context)
            if partly and len(answer.found) < limit:
                self._tell_of_waiting(index, scope, answer, context)
            return answer

        return use_store(self._root, work)

    async def instead(self, text: str, limit: int, context: Context) -> list[dict[str, Any]]:
        """Return passages of the workspace instead of web pages, with a notice."""
        results = await self.passages(text, limit, context)
        self.tell_no_engine(bool(results), context)
        return results

    async def passages(self, text: str, limit: int, context: Context) -> list[dict[str, Any]]:
        """Return passages that have all significant words of a text."""
        answer = await asyncio.to_thread(
            self._answer, read_query(text).telling, Scope(), limit, context, partly=False
        )
        results = [shown(found, answer.words) for found in answer.found]
        return [{"title": found.pop("title", "") or found["path"], **found} for found in results]

    def _taint(self, index: Index, answer: Answer, left: int, context: Context) -> None:
        """Taint the turn if a passage comes from others: by its file, its format or its title.

        If a file changed since it was indexed, the origin of the indexed text is unknown, so it
        taints.
        """
        origins = self._root.origins
        origins.saw_files(found.path for found in answer.found)
        for found in answer.found:
            origins.saw(name_of(found.path), f"the title of {found.path}")
            known = index.file(found.path)
            is_read = known is not None and known.state == "read"
            if found.kind in APART or left or not is_read:
                context.taint(f"file of others: {found.path}")
                return

    def _tell_of_tag(self, index: Index, scope: Scope, context: Context) -> None:
        """Add a notice for a tag that no file has; otherwise it would look like words that no file
        has.
        """
        if not scope.tag:
            return
        known: set[str] = set()
        for path, tags in index.tagged():
            if context.path_refusal(path) is None:
                self._root.origins.saw(name_of(path), f"the tags of {path}")
                known.update(tags)
        if scope.tag not in known:
            there = ", ".join(f"#{tag}" for tag in sorted(known)[:_TAGS])
            told = f"there are: {there}" if there else "no file has a tag; file_ingest gives tags"
            context.notice("unknown_tag", f"no file has the tag #{scope.tag}; {told}")

    def _tell_of_waiting(
        self, index: Index, scope: Scope, answer: Answer, context: Context
    ) -> None:
        found = index.waiting(scope.where, scope.values)
        waiting = [path for path in found if context.path_refusal(path) is None]
        named = waiting[:_NAMED]
        if named:
            said = ", ".join(named) + (" …" if len(waiting) > _NAMED else "")
            context.notice("not_ingested", f"not looked into: {said}; file_ingest reads such files")
            # File names can carry foreign text as well.
            self._root.origins.saw_files(named)
        elif not answer.found and index.count()[0] == 0:
            context.notice("nothing_indexed", "there is no text here yet; file_ingest reads files")

    def tell_no_engine(self, found: bool, context: Context) -> None:
        """Add a notice that says where the results come from."""
        context.notice("no_search_engine", _SOME if found else _NONE)


def _tell(query: Query, answer: Answer, left: int, context: Context) -> None:
    if not query.groups:
        context.notice("no_words", "the query has no word to look for; give at least one")
    if answer.partly:
        context.notice("some_words", "no passage has all the words; these have some of them")
    if left:
        # No number: it could reveal files that this call must not know of.
        context.notice("index_behind", "some files are not read yet; search again for the rest")
