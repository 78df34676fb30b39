"""Formulas in TeX: as a drawing for pages, and as MathML for what can read it."""

# The package has no types where it counts.
# pyright: reportUnknownMemberType=false, reportPrivateImportUsage=false

from __future__ import annotations

from html import unescape
from typing import Any
from xml.etree import ElementTree

from callblocks.toolkits.rendering.outside import Outside

__all__ = ("formula_mathml", "formula_svg")

_LONGEST = 2_000
_PIXELS = 96 / 72
_SIZE = 11.5
_MARGIN = 1.0


def formula_svg(tex: str, outside: Outside) -> str:
    """The drawing of a formula, on its line; "" where it cannot be drawn, which is told."""
    import ziamath

    # Paths only: not every reader of SVG knows symbols.
    ziamath.config.svg2 = False
    try:
        _require_short(tex)
        drawn: Any = ziamath.Math.fromlatex(tex.strip(), size=_SIZE * _PIXELS)
        svg, below = drawn.svg(), drawn.getyofst() - _MARGIN
    except Exception:  # it meets formulas that nobody thought of
        _tell(tex, outside)
        return ""
    return svg.replace("<svg ", f'<svg style="vertical-align:{below:.2f}px" ', 1)


def formula_mathml(tex: str, outside: Outside) -> ElementTree.Element | None:
    """A formula as MathML; `None` where it cannot be read, which is told."""
    from latex2mathml.converter import convert_to_element

    try:
        _require_short(tex)
        read: ElementTree.Element = convert_to_element(tex.strip())
    except Exception:  # it raises whatever comes
        _tell(tex, outside)
        return None
    # It writes signs as references, which nothing reads in a tree.
    for part in read.iter():
        part.text = unescape(part.text or "")
    return read


def _require_short(tex: str) -> None:
    if len(tex) > _LONGEST:
        raise ValueError("too long")


def _tell(tex: str, outside: Outside) -> None:
    shown = tex.strip()[:60]
    outside.tell("formula_as_text", f"{shown}: this formula cannot be set, and is shown as written")
