"""How documents look, in numbers that every writer shares; `page.css` says the same for pages."""

from __future__ import annotations

__all__ = ("ACCENT", "CODE_FONT", "FILL", "FONT", "INK", "LINE", "MATH_FONT", "MUTED", "TINT")

# Where it is not installed, Carlito has the same widths.
FONT = "Calibri"
CODE_FONT = "Consolas"
MATH_FONT = "Cambria Math"

INK = "1F2933"
MUTED = "66727F"
ACCENT = "1F4E79"
LINE = "CBD2D9"
FILL = "F4F6F8"
TINT = "E8EEF4"
