"""Retrieval of passages: with all words, then with prefixes of all words, then with any word.

Each stage is an FTS5 expression of its own, tried only if the previous one found nothing that the
call may read. So an exact match is never ranked below a loose one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from callblocks.toolkits.finding.index import Index
from callblocks.toolkits.finding.known_files import Found
from callblocks.toolkits.finding.query import Query, Words
from callblocks.toolkits.finding.scope import Scope
from callblocks.toolkits.finding.snippets import snippet
from callblocks.tools.context import Context

__all__ = ("Answer", "find", "shown")

# Maximum passages of one file: a long file must not crowd out the others.
_OF_ONE_FILE = 3


class Answer(msgspec.Struct, frozen=True):
    """The passages and the words to mark; `partly` if no passage has all the words."""

    found: list[Found] = []
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
) -> Answer:
    """Return the best passages that the policy lets this call read; with any word if `partly`.

    A file that the call must not read is treated as absent and never counted: otherwise a query
    could probe its text word by word. The order of the other files still depends on it, because
    bm25 counts a word's rarity over all files.
    """
    if not query.groups:
        return Answer()
    # Each file is judged once per search, whatever the number of its passages.
    hidden: dict[str, bool] = {}
    whole = (query.exact, query.started)
    for expression in dict.fromkeys((*whole, query.loose) if partly else whole):
        hits = index.hits(expression, scope.where, scope.values)
        chosen = _chosen(index, hits, limit, context, hidden)
        if chosen:
            words = query.words if expression == query.exact else query.words.opened
            some = expression not in whole
            return Answer([index.passage(number) for number in chosen], words, some)
    return Answer()


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


def shown(found: Found, words: Words) -> dict[str, Any]:
    """Return a passage for the model, without empty fields."""
    told: dict[str, Any] = {"path": found.path, "title": found.title, "heading": found.heading}
    told |= {"page": found.page, "line": found.line}
    kept = {key: value for key, value in told.items() if value}
    return kept | {"snippet": snippet(found.text, words)}
