"""`write_pdf`: a document on pages, with bookmarks, page numbers, title and author."""

from __future__ import annotations

import ctypes
import io
import logging
import re
import unicodedata
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec

from callblocks.toolkits.documents.html_page import END, page_of
from callblocks.toolkits.documents.render_protocol import Made, Outside, RenderJob, Unrenderable
from callblocks.toolkits.documents.runs import without_doors

__all__ = (
    "PAGES",
    "SHARP",
    "Picture",
    "lay_out",
    "pdf_picture",
    "picture",
    "tell_missing",
    "write_pdf",
    "write_png",
)

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
