r"""Formulas in brackets: `\(x\)` in a line, `\[ … \]` as a block, maybe with a label: `\[x\] (1)`.

The plugin for them copies and searches the rest of the text for each opening bracket, which is
quadratic. Here the position of the next closing bracket is cached until the parser has passed it,
so a text is searched once, however many brackets are open in it.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

__all__ = ("bracket_formulas",)

_LABEL = re.compile(r"\s{0,100}\(([^)$\r\n]{1,1000})\)")
# Keys in the cache of a paragraph. The other keys of that cache are offsets, which are never
# negative.
_FROM, _NEXT = -2, -3


def bracket_formulas(markdown: MarkdownIt) -> None:
    """Add both rules to a parser."""
    markdown.inline.ruler.before("escape", "bracket_formula", _in_line)
    markdown.block.ruler.before("fence", "bracket_block", _as_block)


def _in_line(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith(r"\(", state.pos):
        return False
    start = state.pos + 2
    end = _next(state.src, r"\)", start + 1, state.cache)
    if end < 0:
        return False
    if not silent:
        token = state.push("math_inline", "math", 0)
        token.content, token.markup = state.src[start:end], r"\("
    state.pos = end + 2
    return True


def _as_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    begin = state.bMarks[first] + state.tShift[first]
    if not state.src.startswith(r"\[", begin):
        return False
    known: dict[int, int] = state.env.setdefault("bracket_block", {})
    end = _next(state.src, r"\]", begin + 3, known)
    if end < 0 or end + 2 > state.eMarks[last - 1]:
        return False
    content = state.src[begin + 2 : end]
    label = _LABEL.match(state.src, end + 2) if r"\[" not in content else None
    if label is not None and label.end() > state.eMarks[last - 1]:
        label = None
    over = label.end() if label else end + 2
    line = first
    while state.eMarks[line] < over:
        line += 1
    if not silent:
        token = state.push("math_block_label" if label else "math_block", "math", 0)
        token.block, token.content, token.markup = True, content, r"\["
        token.info = label[1] if label else content
        token.map = [first, line + 1]
    state.line = line + 1
    return True


def _next(text: str, mark: str, start: int, known: MutableMapping[Any, int]) -> int:
    """Return the first position of a mark from `start` on, or -1; `known` caches the last
    search.
    """
    # The cached search began at or before `start`, and its hit (or its miss) still lies ahead.
    if _FROM in known and known[_FROM] <= start and (known[_NEXT] < 0 or start <= known[_NEXT]):
        return known[_NEXT]
    known[_FROM], known[_NEXT] = start, text.find(mark, start)
    return known[_NEXT]
