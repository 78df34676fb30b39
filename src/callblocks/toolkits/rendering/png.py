"""`write_png`: one picture of a page that is as high as its content."""

# One of the packages has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import io
from typing import Any

from callblocks.toolkits.rendering.layout import lay_out
from callblocks.toolkits.rendering.markup import END, page_of
from callblocks.toolkits.rendering.outside import Outside
from callblocks.toolkits.rendering.wire import Job, Made

__all__ = ("SHARP", "pdf_picture", "write_png")

_WIDTH = 800
_HIGHEST = 8_000
_LEAST = 40
# Device pixels per CSS pixel.
SHARP = 2
_POINTS = 72 / 96
_MARGIN = 36


def write_png(job: Job, outside: Outside) -> Made:
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


def _height(page: Any, job: Job) -> float:
    """Return the end of the content; pages with floating boxes get the shape of a screen."""
    top = float(page.anchors[END][1]) if END in page.anchors else 0.0
    below = _MARGIN * 0.6 if job.format == "markdown" else 8
    return min(_HIGHEST, top + below) if top > _LEAST else page.width * 0.75
