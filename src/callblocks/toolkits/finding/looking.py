"""Looking for passages in one workspace, once its index is up to date."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

from callblocks.runtime.files.root import Root
from callblocks.toolkits.files import is_foreign
from callblocks.toolkits.finding.finding import Answer, find, shown
from callblocks.toolkits.finding.index import Index
from callblocks.toolkits.finding.kinds import APART
from callblocks.toolkits.finding.query import Query, read_query
from callblocks.toolkits.finding.refreshing import Refresher
from callblocks.toolkits.finding.scope import Scope, read_scope
from callblocks.toolkits.finding.store import use_store
from callblocks.toolkits.workspace.opening import has_office
from callblocks.tools.context import Context

__all__ = ("Look",)

_NAMED = 3
_TAGS = 10
_SOME = (
    "no search engine is set up here: these are passages of the workspace's own files, not of the "
    "web"
)
_NONE = "no search engine is set up here, and no file of the workspace has all these words"


class Look:
    """Answers for `search`, and for `web_search` where there is no engine."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._refresher = Refresher(root)

    def find(self, text: str, within: str, limit: int, context: Context) -> list[dict[str, Any]]:
        """The best passages; `context` is told what else the model should know."""
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
        """What was found; `partly` is for those who look for files and not for an answer."""

        def work(store: sqlite3.Connection) -> Answer:
            index = Index(store)
            left = self._refresher.refresh(index)
            answer = find(index, query, scope, limit, context, partly=partly)
            _tell(query, answer, left, context)
            _tell_of_tag(index, scope, context)
            if partly and len(answer.found) < limit:
                _tell_of_waiting(index, scope, answer, context)
            return answer

        answer = use_store(self._root, work)
        _taint(answer, context)
        return answer

    async def instead(self, text: str, limit: int, context: Context) -> list[dict[str, Any]]:
        """Passages of the workspace in place of pages of the web, and the model is told so."""
        results = await self.passages(text, limit, context)
        self.tell_no_engine(bool(results), context)
        return results

    async def passages(self, text: str, limit: int, context: Context) -> list[dict[str, Any]]:
        """Passages that have all the words which say something."""
        answer = await asyncio.to_thread(
            self._answer, read_query(text).telling, Scope(), limit, context, partly=False
        )
        results = [shown(found, answer.words) for found in answer.found]
        return [{"title": found.pop("title", "") or found["path"], **found} for found in results]

    def tell_no_engine(self, found: bool, context: Context) -> None:
        """Say where the results come from."""
        context.notice("no_search_engine", _SOME if found else _NONE)


def _taint(answer: Answer, context: Context) -> None:
    """What lies where files of others lie is their text, and so is what came in their formats."""
    for found in answer.found:
        if is_foreign(found.path) or found.kind in APART:
            context.taint(f"file of others: {found.path}")
            return


def _tell(query: Query, answer: Answer, left: int, context: Context) -> None:
    if not query.groups:
        context.notice("no_words", "the query has no word to look for; give at least one")
    if answer.partly:
        context.notice("some_words", "no passage has all the words; these have some of them")
    if left:
        # Not how many: there may be some among them that this call must not know of.
        context.notice("index_behind", "some files are not read yet; search again for the rest")


def _tell_of_tag(index: Index, scope: Scope, context: Context) -> None:
    """A tag that nothing has must not look like words that nothing has."""
    if not scope.tag:
        return
    known = {
        tag for path, tags in index.tagged() if context.path_refusal(path) is None for tag in tags
    }
    if scope.tag not in known:
        there = ", ".join(f"#{tag}" for tag in sorted(known)[:_TAGS])
        told = f"there are: {there}" if there else "no file has a tag; file_ingest gives tags"
        context.notice("unknown_tag", f"no file has the tag #{scope.tag}; {told}")


def _tell_of_waiting(index: Index, scope: Scope, answer: Answer, context: Context) -> None:
    found = index.waiting(scope.where, scope.values)
    waiting = [path for path in found if context.path_refusal(path) is None]
    named = waiting[:_NAMED]
    if named:
        said = ", ".join(named) + (" …" if len(waiting) > _NAMED else "")
        context.notice("not_ingested", f"not looked into: {said}; file_ingest reads such files")
        # A name is text too.
        for path in filter(is_foreign, named):
            context.taint(f"file of others: {path}")
    elif not answer.found and index.count()[0] == 0:
        context.notice("nothing_indexed", "there is no text here yet; file_ingest reads files")
