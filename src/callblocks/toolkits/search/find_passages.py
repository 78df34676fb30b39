"""One search in a workspace: refresh the index, retrieve, taint, and explain."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import msgspec

from callblocks.guard.files.root import Root
from callblocks.toolkits.office.open_office import has_office
from callblocks.toolkits.search.chunks import APART
from callblocks.toolkits.search.index import FoundPassage, Index, name_of, use_store
from callblocks.toolkits.search.query import (
    RUN,
    Query,
    Scope,
    Words,
    read_query,
    read_scope,
    words_of,
)
from callblocks.toolkits.search.refresh import Refresher
from callblocks.tools.tool import Context, running_as

__all__ = (
    "Look",
    "SearchAnswer",
    "find",
    "shown",
    "snippet",
)

# --- Snippets: the best place of a passage, with the found words marked ---
#
#     … the «tide» table says that high «tide» is at …
#
# The marks stand for found words only: marks in the text itself are written as ‹ and ›. A snippet
# is one line.

_WIDTH = 280
_BEFORE = 60
_OWN = str.maketrans("«»", "‹›")


def snippet(text: str, words: Words, width: int = _WIDTH) -> str:
    """Return the best place of a text as one line of about that width."""
    line = " ".join(text.translate(_OWN).split())
    places = _places(line, words)
    start = _best(places, width)
    start = _word_start(line, max(0, start - _BEFORE)) if start + width > _BEFORE else 0
    if len(line) - start < width:
        start = _word_start(line, max(0, len(line) - width))
    end = min(len(line), start + width)
    inside = [(left, right) for left, right in places if left >= start and right <= end]
    marked = _marked(line, start, end, inside)
    return f"{'… ' if start else ''}{marked.strip()}{' …' if end < len(line) else ''}"


def _places(line: str, words: Words) -> list[tuple[int, int]]:
    """Return the spans of found words; in unspaced scripts each character is a word."""
    found: list[tuple[int, int]] = []
    for run in RUN.finditer(line):
        start, end = run.span()
        # A run of an unspaced script has several words, and each of them is one character.
        own = words_of(run[0])
        if len(own) > 1 and not run[0].isascii():
            signs = range(start, end)
            found += [(at, at + 1) for at in signs if any(map(words.fit, words_of(line[at])))]
        elif any(map(words.fit, own)):
            found.append((start, end))
    return found


def _best(places: list[tuple[int, int]], width: int) -> int:
    """Return the start of the window with the most found words; the first of equals."""
    # Two pointers: both only move forward, so the search is linear in the number of places.
    best, most, last = 0, 0, 0
    for first, (start, _) in enumerate(places):
        while last < len(places) and places[last][1] <= start + width - _BEFORE:
            last += 1
        if last - first > most:
            best, most = start, last - first
    return best


def _word_start(line: str, at: int) -> int:
    """Return the start of a word near a position, or the position."""
    blank = line.find(" ", at, at + _BEFORE // 2) if at else -1
    return blank + 1 if blank >= 0 else at


def _marked(line: str, start: int, end: int, places: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    for left, right in places:
        pieces += (line[start:left], "«", line[left:right], "»")
        start = right
    # Neighbouring marked characters of an unspaced script become one marked run.
    return "".join((*pieces, line[start:end])).replace("»«", "")


# --- Retrieval of passages: with all words, then with prefixes, then with any word ---
#
# Each stage is an FTS5 expression of its own, tried only if the previous one found nothing that the
# call may read. So an exact match is never ranked below a loose one.

# Maximum passages of one file: a long file must not crowd out the others.
_OF_ONE_FILE = 3


class SearchAnswer(msgspec.Struct, frozen=True):
    """The passages and the words to mark; `partly` if no passage has all the words."""

    found: list[FoundPassage] = []
    words: Words = Words()
    partly: bool = False


def find(
    index: Index,
    query: Query,
    scope: Scope,
    limit: int,
    context: Context,
    *,
    partly: bool = True,
) -> SearchAnswer:
    """Return the best passages that the policy lets this call read; with any word if `partly`.

    A file that the call must not read is treated as absent and never counted: otherwise a query
    could probe its text word by word. The order of the other files still depends on it, because
    bm25 counts a word's rarity over all files.
    """
    if not query.groups:
        return SearchAnswer()
    # Each file is judged once per search, whatever the number of its passages.
    hidden: dict[str, bool] = {}
    whole = (query.exact, query.started)
    for expression in dict.fromkeys((*whole, query.loose) if partly else whole):
        hits = index.hits(expression, scope.where, scope.values)
        chosen = _chosen(index, hits, limit, context, hidden)
        if chosen:
            words = query.words if expression == query.exact else query.words.opened
            some = expression not in whole
            return SearchAnswer([index.passage(number) for number in chosen], words, some)
    return SearchAnswer()


def _chosen(
    index: Index, hits: list[int], limit: int, context: Context, hidden: dict[str, bool]
) -> list[int]:
    chosen: list[int] = []
    counts: dict[str, int] = {}
    for number in hits:
        if len(chosen) == limit:
            break
        path = index.path(number)
        if path not in hidden:
            hidden[path] = context.path_refusal(path) is not None
        counts[path] = counts.get(path, 0) + 1
        if not hidden[path] and counts[path] <= _OF_ONE_FILE:
            chosen.append(number)
    return chosen


def shown(found: FoundPassage, words: Words) -> dict[str, Any]:
    """Return a passage for the model, without empty fields."""
    told: dict[str, Any] = {"path": found.path, "title": found.title, "heading": found.heading}
    told |= {"page": found.page, "line": found.line}
    kept = {key: value for key, value in told.items() if value}
    return kept | {"snippet": snippet(found.text, words)}


# --- One search in a workspace: refresh the index, retrieve, taint, and explain ---

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
    ) -> SearchAnswer:
        """Retrieve passages; without `partly` all words must match."""

        def work(store: sqlite3.Connection) -> SearchAnswer:
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

    def _taint(self, index: Index, answer: SearchAnswer, left: int, context: Context) -> None:
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
        self, index: Index, scope: Scope, answer: SearchAnswer, context: Context
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


def _tell(query: Query, answer: SearchAnswer, left: int, context: Context) -> None:
    if not query.groups:
        context.notice("no_words", "the query has no word to look for; give at least one")
    if answer.partly:
        context.notice("some_words", "no passage has all the words; these have some of them")
    if left:
        # No number: it could reveal files that this call must not know of.
        context.notice("index_behind", "some files are not read yet; search again for the rest")
