"""Markdown as a page of HTML, for PDF and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from callblocks.core.paths import CITATION
from callblocks.toolkits.documents.markdown_tree import (
    Document,
    References,
    read_markdown,
    source_list,
)
from callblocks.toolkits.documents.render_protocol import Outside, RenderJob, Unrenderable
from callblocks.toolkits.documents.runs import Piece, formula_svg, highlighted, runs_left

__all__ = (
    "END",
    "given_html",
    "page_of",
)

# --- HTML input: citations become references, everything else stays ---

# One of the packages has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false


def given_html(job: RenderJob, outside: Outside) -> str:
    """Return the given HTML with its citations resolved and the list of sources."""
    if not job.content.strip():
        raise Unrenderable("document_empty", "there is nothing to show; give some content")
    references = References(job.sources)
    html = _cite(job.content, references) if CITATION.search(job.content) else job.content
    references.tell(outside)
    return f"{html}{source_list(references)}"


def _cite(html: str, references: References) -> str:
    """Replace citations in text nodes; attributes stay."""
    from tinyhtml5 import parse

    tree: Any = parse(html, namespace_html_elements=False)
    # ElementTree has no text nodes: text is in `.text` and `.tail`. Scripts and styles are code.
    for element in tree.iter():
        if not isinstance(element.tag, str) or element.tag in ("script", "style", "title"):
            continue
        _cite_in(element, references)
    return "<!doctype html>" + ElementTree.tostring(tree, encoding="unicode", method="html")


def _cite_in(element: Any, references: References) -> None:
    """Replace the citations in the text of an element and in the tails of its children."""
    for place, text in [(None, element.text), *((child, child.tail) for child in list(element))]:
        links: list[Any] = []
        rest, kept = text or "", ""
        while match := CITATION.search(rest):
            numbers = references.numbers(match[1])
            kept += rest[: match.start()] if numbers else rest[: match.end()]
            rest = rest[match.end() :]
            for number in numbers:
                link = ElementTree.Element("a", {"class": "cite", "href": f"#source:{number}"})
                link.text = f"[{number}]"
                _put(links, element, place, kept)
                kept = ""
                links.append(link)
        _put(links, element, place, kept + rest)
        at = 0 if place is None else list(element).index(place) + 1
        for link in reversed(links):
            element.insert(at, link)


def _put(links: list[Any], element: Any, place: Any, text: str) -> None:
    """Append text behind the last link, or set it before the first one."""
    if links:
        links[-1].tail = (links[-1].tail or "") + text
    elif place is None:
        element.text = text
    else:
        place.tail = text


# --- Markdown as a page of HTML, for PDF and pictures ---

# The anchor behind all content, which measures the height of a picture. No slug contains a colon.
END = "end:page"

# Row limit of all tables together: the layout of tables is superlinear.
_ROWS = 2_000
_LONG_WORD = 18
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


def page_of(job: RenderJob, outside: Outside) -> str:
    """Return the HTML of a job; footnotes stand at the end."""
    if job.format == "html":
        return f'{given_html(job, outside)}<div id="{END}"></div>'
    document = read_markdown(job, outside, _ROWS)
    body = _Markup(document, outside).page()
    title, author = escape(document.title), escape(document.author)
    said = f'<meta name="author" content="{author}">' if author else ""
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><title>{title}</title>{said}</head>'
        f'<body class="markdown" data-title="{title}">{body}{source_list(document.references)}'
        f'<div id="{END}"></div></body></html>'
    )


class _Markup(RendererHTML):
    """A renderer of tokens; each method is the rule for the tokens of its name."""

    def __init__(self, document: Document, outside: Outside) -> None:
        super().__init__()
        self._document = document
        self._outside = outside
        self._options = MarkdownIt("commonmark").options
        self._slugs: set[str] = set()
        _set_directions(document.tokens)
        self._notes = _note_tokens(document.tokens)

    def page(self) -> str:
        """Return the blocks, with the title before them if no heading has it."""
        tokens = [*_without_notes(self._document.tokens)]
        author = self._document.author
        by = f'<p class="author">{escape(author)}</p>' if author else ""
        head = next((n for n, one in enumerate(tokens[:3]) if one.type == "heading_close"), None)
        if head is not None and tokens[0].tag == "h1":
            first, rest = tokens[: head + 1], tokens[head + 1 :]
            return self._rendered(first) + by + self._rendered(rest) + self._end_notes()
        has_title = any(token.tag == "h1" for token in tokens)
        title = "" if has_title else f"<h1>{escape(self._document.title)}</h1>"
        if not self._document.title or self._is_only_a_heading(tokens):
            title = ""
        return title + by + self._rendered(tokens) + self._end_notes()

    def heading_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Render a heading with a slug as id, as GitHub does."""
        words = _NOT_IN_SLUG.sub("", tokens[idx + 1].content.lower()).replace(" ", "-")
        tokens[idx].attrSet("id", words)
        is_new = words not in self._slugs
        self._slugs.add(words)
        name = f' id="{escape(words)}"' if is_new else ""
        side = ' dir="rtl"' if tokens[idx].attrGet("dir") else ""
        return f"<{tokens[idx].tag}{name}{side}>"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Code in colours."""
        words = tokens[idx].info.split()
        lines = highlighted(tokens[idx].content, words[0] if words else "")
        code = "\n".join(map(_code, lines))
        return f"<pre><code>{code}</code></pre>\n"

    def math_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """A formula in a line, as a drawing."""
        return self._formula(tokens[idx].content, "span")

    math_inline_double = math_inline

    def math_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """A formula of its own."""
        return self._formula(tokens[idx].content, "div")

    math_block_label = math_block

    def citation(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """References to the list of sources."""
        return "".join(map(_reference, tokens[idx].meta["numbers"]))

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Render a cell; only words that are longer than a column may be broken anywhere."""
        words = tokens[idx + 1].content.split()
        if any(len(word) > _LONG_WORD for word in words):
            tokens[idx].attrJoin("class", "long")
        return str(self.renderToken(tokens, idx, options, env))

    th_open = td_open

    def list_item_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Render an item; a task has a box."""
        task = tokens[idx].meta.get("task")
        if task is None:
            return str(self.renderToken(tokens, idx, options, env))
        return f'<li class="task"><span class="box">{"✓" if task else ""}</span>'

    def footnote_ref(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Render the number of a footnote as a link to it."""
        number = tokens[idx].meta["id"] + 1
        return f'<sup><a href="#note:{number}">{number}</a></sup>'

    def footnote_anchor(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Render nothing: paper has no way back."""
        return ""

    def _rendered(self, tokens: Sequence[Token]) -> str:
        return str(self.render(tokens, self._options, {}))

    def _is_only_a_heading(self, tokens: Sequence[Token]) -> bool:
        """Tell if the first heading, of whatever level, is the title."""
        first = tokens[1].content.strip() if tokens and tokens[0].type == "heading_open" else ""
        return first == self._document.title

    def _note(self, number: int) -> str:
        """Render a footnote with its paragraphs joined."""
        inline = [token for token in self._notes.get(number, ()) if token.type == "inline"]
        return "<br>".join(
            str(self.renderInline(token.children or [], self._options, {})) for token in inline
        )

    def _end_notes(self) -> str:
        if not self._notes:
            return ""
        items = (f'<li id="note:{number}">{self._note(number)}</li>' for number in self._notes)
        return f'<section class="notes"><h2>Notes</h2><ol>{"".join(items)}</ol></section>'

    def _formula(self, tex: str, tag: str) -> str:
        svg = formula_svg(tex, self._outside)
        inner = svg if svg else f"<code>{escape(tex.strip())}</code>"
        return f'<{tag} class="math">{inner}</{tag}>'


def _reference(number: int) -> str:
    return f'<a class="cite" href="#source:{number}">[{number}]</a>'


def _code(line: Iterable[Piece]) -> str:
    return "".join(map(_piece, line))


def _piece(piece: Piece) -> str:
    styles = (
        f"color:#{piece.color}" if piece.color else "",
        "font-weight:bold" if piece.bold else "",
        "font-style:italic" if piece.italic else "",
    )
    style = ";".join(filter(None, styles))
    text = escape(piece.text)
    return f'<span style="{style}">{text}</span>' if style else text


def _set_directions(tokens: Sequence[Token]) -> None:
    """Set `dir="rtl"` on blocks and lists whose first word runs from right to left."""
    opened: list[Token] = []
    for token in tokens:
        if token.nesting > 0:
            opened.append(token)
        elif token.nesting < 0:
            # Only blocks that were opened directly before the text take its direction: in a list,
            # the first item decides for the list.
            opened.clear()
        elif token.type == "inline":
            for block in opened if runs_left(token.content) else ():
                block.attrSet("dir", "rtl")
            opened.clear()


def _without_notes(tokens: Iterable[Token]) -> Iterable[Token]:
    inside = False
    for token in tokens:
        inside = inside or token.type == "footnote_block_open"
        if not inside:
            yield token
        inside = inside and token.type != "footnote_block_close"


def _note_tokens(tokens: Iterable[Token]) -> dict[int, list[Token]]:
    notes: dict[int, list[Token]] = {}
    number = 0
    for token in tokens:
        if token.type == "footnote_open":
            number = token.meta["id"] + 1
        elif token.type == "footnote_close":
            number = 0
        elif number:
            notes.setdefault(number, []).append(token)
    return notes
