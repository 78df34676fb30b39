"""`write_pdf`: a document on pages, with bookmarks, page numbers, title and author."""

from __future__ import annotations

import ctypes
import io
import logging
import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar, cast
from xml.etree import ElementTree

import msgspec
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
from callblocks.toolkits.documents.render_protocol import Made, Outside, RenderJob, Unrenderable
from callblocks.toolkits.documents.runs import (
    Piece,
    formula_svg,
    highlighted,
    runs_left,
    without_doors,
)

__all__ = (
    "END",
    "PAGES",
    "SHARP",
    "Picture",
    "given_html",
    "lay_out",
    "page_of",
    "pdf_picture",
    "picture",
    "tell_missing",
    "write_pdf",
    "write_png",
)

# --- Markdown as a page of HTML, for PDF and pictures ---

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


# --- `write_pdf`: a document on pages, with bookmarks, page numbers, title and author ---

# --- Detection of characters that no installed font has, which would be drawn as empty boxes ---
#
# The answer comes from fontconfig, the library that the layout uses as well. Without it nothing is
# reported.

_SHOWN_CHARACTERS = 20
# Latin is in every font, and invisible characters need no glyph.
_FIRST = 0x250
_NO_LOOK = ("Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Zl", "Zp", "Zs")


def tell_missing(text: str, outside: Outside) -> None:
    """Add a notice with the characters that no font has."""
    wanted = sorted(
        char
        for char in set(text)
        if ord(char) >= _FIRST and unicodedata.category(char) not in _NO_LOOK
    )
    missing = _without_font(wanted) if wanted else []
    if missing:
        shown = " ".join(missing[:_SHOWN_CHARACTERS]) + (
            " …" if len(missing) > _SHOWN_CHARACTERS else ""
        )
        words = f"no font here has {shown}; install one, such as fonts-noto-color-emoji for emoji"
        outside.tell("glyphs_missing", f"{words} or fonts-droid-fallback for Chinese and Japanese")


def _without_font(chars: list[str]) -> list[str]:
    library = _fontconfig()
    if library is None:
        return []
    return [char for char in chars if not _has_font(library, ord(char))]


def _fontconfig() -> Any:
    try:
        # Through ctypes: the library is there wherever WeasyPrint runs, and no package is needed.
        library = ctypes.CDLL("libfontconfig.so.1")
    except OSError:
        return None
    for name in ("FcCharSetCreate", "FcPatternCreate", "FcObjectSetCreate", "FcFontList"):
        getattr(library, name).restype = ctypes.c_void_p
    return library if library.FcInit() else None


def _has_font(library: Any, code: int) -> bool:
    """Tell if any font has this character."""
    chars = ctypes.c_void_p(library.FcCharSetCreate())
    pattern = ctypes.c_void_p(library.FcPatternCreate())
    names = ctypes.c_void_p(library.FcObjectSetCreate())
    library.FcCharSetAddChar(chars, ctypes.c_uint32(code))
    library.FcPatternAddCharSet(pattern, b"charset", chars)
    # The struct FcFontSet begins with the number of fonts.
    found = library.FcFontList(None, pattern, names)
    count = ctypes.cast(found, ctypes.POINTER(ctypes.c_int)).contents.value if found else 0
    if found:
        library.FcFontSetDestroy(ctypes.c_void_p(found))
    library.FcObjectSetDestroy(names)
    library.FcPatternDestroy(pattern)
    library.FcCharSetDestroy(chars)
    return count > 0


# --- Layout of HTML on pages by WeasyPrint, without network access and with a page limit ---

# The package has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUntypedBaseClass=false


# Pages of one document.
PAGES = 500

# The base of relative URLs. The fetcher maps it to files of the timeline; `.invalid` never
# resolves.
_HERE = "http://timeline.invalid/"
_PAGE = re.compile(r"Page (\d+)")
_SHOWN = 80
_SHEET = Path(__file__).with_name("page.css")


def lay_out(html: str, page: str, outside: Outside) -> Any:
    """Lay out a document; `page` is an `@page` rule in CSS."""
    from weasyprint import CSS, HTML

    fetcher = _fetcher(outside)
    # WeasyPrint has no hook for progress or limits, but it logs each page. The log handlers report
    # progress and raise to stop a document that never ends.
    heard = _Steps(outside)
    steps, words = logging.getLogger("weasyprint.progress"), logging.getLogger("weasyprint")
    words.handlers, words.propagate = [_Broken(outside, fetcher.given)], False
    steps.handlers, steps.propagate = [heard], False
    steps.setLevel(logging.INFO)
    read = HTML(string=html, base_url=_HERE, url_fetcher=fetcher)
    tree: Any = read.etree_element
    without_doors(tree)
    shown: list[str] = [*tree.itertext()]
    tell_missing("".join(shown), outside)
    # The style sheet of the page comes last, so that its `@page` rule wins over that of the file.
    sheets = [CSS(string=_SHEET.read_text(), url_fetcher=fetcher), CSS(string=page)]
    return read.render(stylesheets=sheets)


class _Steps(logging.Handler):
    """A log handler that reports each page and stops at the page limit."""

    def __init__(self, outside: Outside) -> None:
        super().__init__()
        self._outside = outside
        self._last = 0

    def emit(self, record: logging.LogRecord) -> None:
        match = _PAGE.search(record.getMessage())
        number = int(match[1]) if match else 0
        if number > PAGES:
            words = f"it has more than {PAGES} pages; give it in parts"
            raise Unrenderable("document_too_large", words)
        if number > self._last:
            self._last = number
            self._outside.say(f"page {number}")


class _Broken(logging.Handler):
    """A log handler that reports files that are no pictures; missing ones were reported before."""

    def __init__(self, outside: Outside, given: dict[str, str]) -> None:
        super().__init__()
        self._outside = outside
        self._given = given

    def emit(self, record: logging.LogRecord) -> None:
        args = cast("tuple[object, ...]", record.args or ("",))
        url = str(args[0]) if isinstance(record.args, tuple) else ""
        if record.msg.startswith("Failed to load image") and url in self._given:
            name = self._given[url]
            words = f"{name} is no picture that a document can show"
            self._outside.tell("image_broken", words, name=name)


def _fetcher(outside: Outside) -> Any:
    from weasyprint.urls import URLFetcher, URLFetcherResponse

    class Files(URLFetcher):
        """A fetcher that asks the parent process for files and cannot reach anything else."""

        given: ClassVar[dict[str, str]] = {}

        def fetch(self, url: str, headers: Any = None) -> Any:
            content = outside.file(url.removeprefix(_HERE))
            if content is None:
                raise ValueError("no such file")
            self.given[url] = url.removeprefix(_HERE)[:_SHOWN]
            return URLFetcherResponse(url, content)

    return Files()


# --- `write_pdf`: a document on pages, with bookmarks, page numbers, title and author ---


def write_pdf(job: RenderJob, outside: Outside) -> Made:
    """Render the document as PDF."""
    html = page_of(job, outside)
    laid = lay_out(html, f"@page {{ size: {job.paper.replace('-', ' ')} }}", outside)
    about = laid.metadata
    about.title = job.title or about.title or job.name
    about.authors = [job.author] if job.author else about.authors
    about.generator = "callblocks"
    pages = len(laid.pages)
    outside.say(f"writing {pages} page{'s'[: pages != 1]}")
    return Made(laid.write_pdf(), {"pages": pages})


# --- `write_png`: one picture of a page that is as high as its content ---

# One of the packages has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false


_WIDTH = 800
_HIGHEST = 8_000
_LEAST = 40
# Device pixels per CSS pixel.
SHARP = 2
_POINTS = 72 / 96
_MARGIN = 36


def write_png(job: RenderJob, outside: Outside) -> Made:
    """Render the document as one picture; report what does not fit."""
    html = page_of(job, outside)
    width = job.width or _WIDTH
    rules = (
        f"@page {{ size: {width}px {_HIGHEST}px; margin: 0;"
        "@bottom-right { content: none } @bottom-left { content: none } }"
        f"body.markdown {{ padding: {_MARGIN}px {_MARGIN}px 0 }}"
    )
    laid = lay_out(html, rules, outside)
    height = _height(laid.pages[0], job)
    if len(laid.pages) > 1:
        height = _HIGHEST
        words = f"the picture ends after {_HIGHEST} pixels; write_pdf shows all of it"
        outside.tell("picture_cut", words)
    outside.say("drawing")
    # There is no direct way from WeasyPrint to a bitmap: the first page becomes a PDF, and PDFium
    # draws it.
    pdf = laid.copy(laid.pages[:1]).write_pdf()
    return Made(pdf_picture(pdf, width, height), {"width": width * SHARP})


def pdf_picture(pdf: bytes, width: float, height: float) -> bytes:
    """Rasterize the upper left corner of a PDF's first page."""
    import pypdfium2

    opened: Any = pypdfium2.PdfDocument(pdf)
    try:
        page = opened[0]
        below = max(0.0, page.get_height() - height * _POINTS)
        beside = max(0.0, page.get_width() - width * _POINTS)
        drawn = page.render(scale=SHARP / _POINTS, crop=(0, below, beside, 0))
        written = io.BytesIO()
        drawn.to_pil().save(written, "PNG", optimize=True)
        return written.getvalue()
    finally:
        opened.close()


def _height(page: Any, job: RenderJob) -> float:
    """Return the end of the content; pages with floating boxes get the shape of a screen."""
    top = float(page.anchors[END][1]) if END in page.anchors else 0.0
    below = _MARGIN * 0.6 if job.format == "markdown" else 8
    return min(_HIGHEST, top + below) if top > _LEAST else page.width * 0.75


# --- Pictures for Office formats: PNG, JPEG and GIF pass unchanged ---

# Decompression bomb guard: a small file can declare billions of pixels. Checked before decoding.
_PIXELS = 50_000_000
_TAKEN = ("PNG", "JPEG", "GIF")
_INCH = 96
# Pixels of the page on which a drawing is drawn.
_SVG = 1_000


class Picture(msgspec.Struct, frozen=True):
    """A picture that can be embedded, with its size in inches."""

    content: bytes
    width: float
    height: float


def picture(name: str, outside: Outside) -> Picture | None:
    """Return the picture that a document names; `None` and a notice if there is none."""
    content = outside.file(name)
    if content is None:
        return None
    is_drawing = b"<svg" in content[:1_000]
    drawn = _drawn(content, outside) if is_drawing else content
    found = _opened(drawn, _INCH * (SHARP if is_drawing else 1)) if drawn else None
    if found is None:
        shown = name if len(name) <= 80 else f"{name[:80]}…"
        outside.tell("image_broken", f"{shown} is no picture that a document can show", name=shown)
    return found


def _opened(content: bytes, inch: int) -> Picture | None:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content)) as image:
            width, height = image.size
            if width * height > _PIXELS:
                return None
            # Decode now: Pillow is lazy, and a damaged picture would fail later, inside of another
            # library.
            image.load()
            if image.format not in _TAKEN:
                content = _as_png(image)
    except Exception:  # a damaged picture raises whatever comes
        return None
    return Picture(content, width / inch, height / inch)


def _as_png(image: Any) -> bytes:
    written = io.BytesIO()
    image.convert("RGBA").save(written, "PNG")
    return written.getvalue()


def _drawn(svg: bytes, outside: Outside) -> bytes | None:
    """Rasterize an SVG through the same layout engine as pages."""
    from base64 import b64encode

    url = f"data:image/svg+xml;base64,{b64encode(svg).decode()}"
    page = f'<img id="drawing" src="{url}" style="display:block">'
    try:
        laid = lay_out(page, f"@page {{ size: {_SVG}px {_SVG}px; margin: 0 }}", outside)
        _, _, width, height = laid.pages[0].anchors["drawing"]
        return pdf_picture(laid.write_pdf(), width, height)
    except Exception:  # as above
        return None
