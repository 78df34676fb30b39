"""Collection of a DOCX's text from parser events: paragraphs, cells, rows and headings.

Tables nest in cells and paragraphs nest in text boxes, so open paragraphs, rows and cells are
stacks. Text that is complete goes to the innermost open cell, else to the current section.
"""

from __future__ import annotations

import re

from callblocks.toolkits.finding.xml_parts import Attributes

__all__ = ("DocxText",)

_HEADING = re.compile(r"heading [1-9]|title")
_HEADING_LENGTH = 120
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


class DocxText:
    """A collector of sections: a heading, and the text below it with the heading as first line."""

    def __init__(self, styles: dict[str, str]) -> None:
        self.is_document = False
        self._styles = styles
        self._sections: list[tuple[str, list[str]]] = [("", [])]
        self._paragraphs: list[list[str]] = []
        self._style = ""
        self._rows: list[list[str]] = []
        self._cells: list[list[str]] = []
        self._in_text = False

    def ready(self) -> list[tuple[str, str]]:
        """Return and remove the sections that are complete."""
        *done, last = self._sections
        self._sections = [last]
        return [_joined(section) for section in done]

    def rest(self) -> list[tuple[str, str]]:
        """Return the remaining sections at the end."""
        return [_joined(section) for section in self._sections]

    def start(self, name: str, attributes: Attributes) -> None:
        """Handle the start of an element."""
        match name:
            case "body":
                self.is_document = True
            case "p":
                self._paragraphs.append([])
                self._style = ""
            case "pStyle":
                self._style = self._styles.get(attributes.get("val", ""), "")
            case "t":
                self._in_text = True
            case "tr":
                self._rows.append([])
            case "tc":
                self._cells.append([])
            case _ if name in _SIGNS and self._paragraphs:
                self._paragraphs[-1].append(_SIGNS[name])
            case _:
                pass

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        match name:
            case "t":
                self._in_text = False
            case "p" if self._paragraphs:
                self._paragraph("".join(self._paragraphs.pop()).strip())
            case "tc" if self._cells and self._rows:
                self._rows[-1].append(" ".join(self._cells.pop()))
            case "tr" if self._rows:
                self._take(" | ".join(self._rows.pop()))
            case _:
                pass

    def data(self, text: str) -> None:
        """Handle character data."""
        if self._in_text and self._paragraphs:
            self._paragraphs[-1].append(text)

    def _paragraph(self, text: str) -> None:
        # A paragraph in heading style inside of a table cell is formatting, not structure.
        if _HEADING.fullmatch(self._style) and text and not self._cells:
            self._sections.append((" ".join(text.split())[:_HEADING_LENGTH], []))
        self._take(text)

    def _take(self, text: str) -> None:
        """Add a complete text to the innermost cell, or to the section."""
        if not text:
            return
        if self._cells:
            self._cells[-1].append(text)
        else:
            self._sections[-1][1].append(text)


def _joined(section: tuple[str, list[str]]) -> tuple[str, str]:
    heading, pieces = section
    return heading, "\n\n".join(pieces)
