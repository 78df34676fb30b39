"""Fonts and colours that all writers share; `page.css` has the same values for pages."""

from __future__ import annotations

__all__ = ("ACCENT", "CODE_FONT", "FILL", "FONT", "INK", "LINE", "MATH_FONT", "MUTED", "TINT")

# Where Calibri is not installed, Carlito has the same metrics.
FONT = "Calibri"
CODE_FONT = "Consolas"
MATH_FONT = "Cambria Math"

INK = "1F2933"
MUTED = "66727F"
ACCENT = "1F4E79"
LINE = "CBD2D9"
FILL = "F4F6F8"
TINT = "E8EEF4"
