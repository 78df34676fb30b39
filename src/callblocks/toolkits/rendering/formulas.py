"""TeX formulas: as SVG for pages, as MathML for formats that support it."""

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
    """Return the SVG of a formula aligned to the baseline; "" and a notice if that fails."""
    import ziamath

    # Paths only: not every SVG renderer supports `<symbol>`.
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
    """Return a formula as MathML; `None` and a notice if it cannot be parsed."""
    from latex2mathml.converter import convert_to_element

    try:
        _require_short(tex)
        read: ElementTree.Element = convert_to_element(tex.strip())
    except Exception:  # it raises whatever comes
        _tell(tex, outside)
        return None
    # The converter writes symbols as character references, which must be resolved in a tree.
    for part in read.iter():
        part.text = unescape(part.text or "")
    return read


def _require_short(tex: str) -> None:
    if len(tex) > _LONGEST:
        raise ValueError("too long")


def _tell(tex: str, outside: Outside) -> None:
    shown = tex.strip()[:60]
    outside.tell("formula_as_text", f"{shown}: this formula cannot be set, and is shown as written")
