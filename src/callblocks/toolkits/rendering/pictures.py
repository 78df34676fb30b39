"""Pictures for Office formats, which accept only some types: PNG, JPEG and GIF pass unchanged."""

from __future__ import annotations

import io
from typing import Any

import msgspec

from callblocks.toolkits.rendering.outside import Outside
from callblocks.toolkits.rendering.png import SHARP, pdf_picture

__all__ = ("Picture", "picture")

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

    from callblocks.toolkits.rendering.layout import lay_out

    url = f"data:image/svg+xml;base64,{b64encode(svg).decode()}"
    page = f'<img id="drawing" src="{url}" style="display:block">'
    try:
        laid = lay_out(page, f"@page {{ size: {_SVG}px {_SVG}px; margin: 0 }}", outside)
        _, _, width, height = laid.pages[0].anchors["drawing"]
        return pdf_picture(laid.write_pdf(), width, height)
    except Exception:  # as above
        return None
