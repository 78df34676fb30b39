r"""Markdown as every writer takes it: a tree of tokens, its title, its notes, its sources.

    CommonMark, tables, ~~struck~~, definition lists, footnotes[^1], - [x] tasks
    $x^2$   $$…$$   \(x\)   \[…\]      formulas; "$5 and $6" is money
    [[S:1,3-5]]                        citations
    ---  title: …  author: …  ---      before all else

HTML in it is kept as it is. Any text is Markdown: nothing here fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, MutableMapping
from html import escape
from types import SimpleNamespace
from typing import Any

import msgspec
from markdown_it import MarkdownIt, helpers
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_inline

from callblocks.core.paths import CITATION, chosen, joined, parse_selector
from callblocks.core.text import label_end
from callblocks.toolkits.documents.render_protocol import Cited, Outside, RenderJob, Unrenderable
from callblocks.toolkits.documents.runs import leads_outside

__all__ = (
    "Document",
    "References",
    "bracket_formulas",
    "citation_plugin",
    "plain_text",
    "read_markdown",
    "source_list",
)

# --- Formulas in brackets: `\(x\)` in a line, `\[ … \]` as a block, with or without a label ---
#
# The plugin for them copies and searches the rest of the text for each opening bracket, which is
# quadratic. Here the position of the next closing bracket is cached until the parser has passed it,
# so a text is searched once, however many brackets are open in it.

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


# --- Citations in a document: `[[S:4]]` becomes `[1]`, and the sources are listed at the end ---
#
# Numbers are assigned in the order of first citation. A citation of an unknown source stays as it
# was written, and a notice reports it.


class References:
    """The numbers of the sources that one document cites."""

    def __init__(self, sources: Iterable[Cited]) -> None:
        self._sources = {source.sid: source for source in sources}
        self._numbers: dict[int, int] = {}
        self._unknown: list[str] = []

    @property
    def listed(self) -> list[tuple[int, Cited]]:
        """The cited sources with their numbers."""
        return [(number, self._sources[sid]) for sid, number in self._numbers.items()]

    def numbers(self, selector: str) -> list[int]:
        """Return the numbers for a citation; none if all its sources are unknown."""
        ranges = parse_selector(selector)
        sids = chosen(joined(ranges), self._sources.keys()) if ranges else []
        # The caller leaves the citation as it was written, so the reader sees that it leads
        # nowhere.
        if not sids:
            self._unknown.append(selector.strip())
        return [self._numbers.setdefault(sid, len(self._numbers) + 1) for sid in sids]

    def tell(self, outside: Outside) -> None:
        """Add a notice about citations of unknown sources."""
        if self._unknown:
            known = ", ".join(dict.fromkeys(self._unknown))
            words = f"no source has the number {known}; these citations stay as they are written"
            outside.tell("unknown_source", words)


def citation_plugin(markdown: MarkdownIt, references: References) -> None:
    """Parse citations as tokens `citation`, with their `numbers`."""

    def citation(state: StateInline, silent: bool) -> bool:
        match = CITATION.match(state.src, state.pos)
        # In silent mode the parser only skips; assigning a number there would break the citation
        # order.
        numbers = references.numbers(match[1]) if match and not silent else []
        if match is None or (not silent and not numbers):
            return False
        if not silent:
            token = state.push("citation", "", 0)
            token.meta = {"numbers": numbers}
        state.pos = match.end()
        return True

    markdown.inline.ruler.before("link", "citation", citation)


# --- Markdown as every writer takes it: a tree of tokens, its title, its notes, its sources ---

_FRONT = re.compile(r"\A---[ \t]*\n((?:[A-Za-z_-]+:[^\n]*\n)+)---[ \t]*(?:\n|\Z)")
_FIELD = re.compile(r"^(title|author):[ \t]*(.*?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\][ \t]+")
# Nesting limit of lists and quotes; the parser silently drops what is deeper, so such input is
# refused.
_DEEPEST = 100


class Document(msgspec.Struct, frozen=True):
    """A parsed document. `notes` are the footnotes by their numbers, from 1 on."""

    tokens: list[Token]
    tree: SyntaxTreeNode
    title: str
    author: str
    references: References
    notes: dict[int, SyntaxTreeNode]

    @property
    def blocks(self) -> list[SyntaxTreeNode]:
        """The blocks from top to bottom, without the footnotes."""
        return [block for block in self.tree.children if block.type != "footnote_block"]


def read_markdown(job: RenderJob, outside: Outside, rows: int | None = None) -> Document:
    """Parse the Markdown of a job; cut tables to `rows` rows in total."""
    references = References(job.sources)
    fields, text = _front(job.content)
    if not text.strip():
        raise Unrenderable("document_empty", "there is nothing to show; give some content")
    tokens = _markdown(references).parse(text)
    if max((token.level for token in tokens), default=0) >= _DEEPEST - 2:
        raise Unrenderable("document_invalid", "it is nested too deep; make it flatter")
    _mark_tasks(tokens)
    if rows is not None:
        tokens = _cut_tables(tokens, rows, outside)
    references.tell(outside)
    tree = SyntaxTreeNode(tokens)
    return Document(
        tokens=tokens,
        tree=tree,
        title=job.title or fields.get("title", "") or _first_heading(tree),
        author=job.author or fields.get("author", ""),
        references=references,
        notes=dict(_notes(tree)),
    )


def plain_text(node: SyntaxTreeNode) -> str:
    """Return the plain text of a node."""
    if node.type in ("text", "code_inline", "math_inline", "fence", "code_block", "image"):
        return node.content
    if node.type in ("softbreak", "hardbreak"):
        return " "
    if node.type == "citation":
        return "".join(f"[{number}]" for number in node.meta["numbers"])
    return "".join(plain_text(child) for child in node.children)


def _markdown(references: References) -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": True, "maxNesting": _DEEPEST})
    markdown.enable(["table", "strikethrough"])
    markdown.use(footnote_plugin).use(deflist_plugin)
    # The parser's own label search and the footnote plugin are quadratic on unclosed brackets. Both
    # are replaced by versions with a bound.
    markdown.inline.ruler.at("footnote_inline", _note_in_line)
    vars(markdown)["helpers"] = SimpleNamespace(**(vars(helpers) | {"parseLinkLabel": label_end}))
    bracket_formulas(markdown)
    markdown.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    return markdown.use(citation_plugin, references)


def _note_in_line(state: StateInline, silent: bool) -> bool:
    """Parse `^[…]` only if its end is found; the plugin's own search for it has no bound."""
    if not state.src.startswith("^[", state.pos) or label_end(state, state.pos + 1) < 0:
        return False
    return footnote_inline(state, silent)


def _front(text: str) -> tuple[dict[str, str], str]:
    """Return the front matter's title and author, and the text behind it."""
    match = _FRONT.match(text)
    if match is None:
        return {}, text
    fields = {name.lower(): value.strip("\"'") for name, value in _FIELD.findall(match[1])}
    return fields, text[match.end() :]


def _mark_tasks(tokens: list[Token]) -> None:
    """Turn `[x]` at the start of an item into the `task` of its token."""
    for item, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type != "list_item_open" or paragraph.type != "paragraph_open":
            continue
        first = inline.children[0] if inline.children else None
        match = _TASK.match(first.content) if first and first.type == "text" else None
        if first is not None and match is not None:
            first.content = first.content[match.end() :]
            item.meta = {"task": match[1] != " "}


def _cut_tables(tokens: list[Token], most: int, outside: Outside) -> list[Token]:
    """Drop the table rows above the limit, which counts over all tables."""
    kept, count, inside, cut = list[Token](), 0, False, 0
    for token in tokens:
        if token.type == "tbody_open":
            inside = True
        elif token.type == "tbody_close":
            inside = False
        elif inside and token.type == "tr_open":
            count += 1
            cut += count > most
        if not (inside and count > most and token.type != "tbody_open"):
            kept.append(token)
    if cut:
        words = f"{cut} of {count} table rows are left out: a document shows {most} at most"
        outside.tell("table_cut", f"{words}; write_xlsx takes them all", rows=count, shown=most)
    return kept


def _first_heading(tree: SyntaxTreeNode) -> str:
    headings = (node for node in tree.children if node.type == "heading")
    return next((plain_text(heading).strip() for heading in headings), "")


def _notes(tree: SyntaxTreeNode) -> Iterator[tuple[int, SyntaxTreeNode]]:
    blocks: Iterable[SyntaxTreeNode] = tree.children
    for block in blocks:
        if block.type == "footnote_block":
            for note in block.children:
                yield note.meta["id"] + 1, note


# --- The list of sources at the end of a page ---


def source_list(references: References) -> str:
    """Return the cited sources as an HTML list by number; "" for none."""
    if not references.listed:
        return ""
    items = "".join(_source(number, source) for number, source in references.listed)
    return f'<section class="sources"><h2>Sources</h2><ol>{items}</ol></section>'


def _source(number: int, source: Cited) -> str:
    title = escape(source.title or source.address or f"Source {source.sid}")
    address = escape(source.address)
    is_link = leads_outside(source.address)
    link = f'<a href="{address}">{address}</a>' if is_link else address
    said = [f"<strong>{title}</strong>", link if source.title else "", escape(source.date)]
    return f'<li id="source:{number}"><b>[{number}]</b>{"<br>".join(filter(None, said))}</li>'
