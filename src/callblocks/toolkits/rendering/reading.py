r"""Markdown as every writer takes it: a tree of tokens, its title, its notes, its sources.

    CommonMark, tables, ~~struck~~, definition lists, footnotes[^1], - [x] tasks
    $x^2$   $$…$$   \(x\)   \[…\]      formulas; "$5 and $6" is money
    [[S:1,3-5]]                        citations
    ---  title: …  author: …  ---      before all else

HTML in it is kept as it is. Any text is Markdown: nothing here fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import SimpleNamespace

import msgspec
from markdown_it import MarkdownIt, helpers
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_inline

from callblocks.model.link_labels import label_end
from callblocks.toolkits.rendering.bracket_formulas import bracket_formulas
from callblocks.toolkits.rendering.citing import References, citation_plugin
from callblocks.toolkits.rendering.faults import Unrenderable
from callblocks.toolkits.rendering.outside import Outside
from callblocks.toolkits.rendering.wire import Job

__all__ = ("Document", "plain_text", "read_markdown")

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


def read_markdown(job: Job, outside: Outside, rows: int | None = None) -> Document:
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
