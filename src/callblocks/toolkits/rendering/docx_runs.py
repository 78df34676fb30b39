"""The words of a paragraph in a Word document, with links, pictures and formulas."""

# What these packages do not offer is written as XML.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable
from typing import Any

from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Emu, Inches, Pt, RGBColor

from callblocks.toolkits.rendering.docx_math import formula_omml
from callblocks.toolkits.rendering.docx_styles import add_property
from callblocks.toolkits.rendering.formulas import formula_mathml
from callblocks.toolkits.rendering.letters import runs_left
from callblocks.toolkits.rendering.links import leads_outside
from callblocks.toolkits.rendering.look import CODE_FONT, FILL
from callblocks.toolkits.rendering.outside import Outside
from callblocks.toolkits.rendering.pictures import picture
from callblocks.toolkits.rendering.runs import Run

__all__ = ("Pen",)

_LINK = "1F5F99"
_HIGHEST = Inches(7.5)


class Pen:
    """A writer of runs into paragraphs; `width` is that of the text area."""

    def __init__(self, document: Document, outside: Outside, width: Emu) -> None:
        self.document = document
        self.outside = outside
        self.width = width
        self._marks = itertools.count(1)

    def write(self, paragraph: Any, runs: Iterable[Run]) -> None:
        """Write runs in order."""
        runs = [*runs]
        if runs_left("".join(run.text for run in runs)):
            add_property(paragraph._p.get_or_add_pPr(), OxmlElement("w:bidi"))
        for run in runs:
            if run.picture:
                self._picture(paragraph, run)
            elif run.math:
                self.formula(paragraph, run.text)
            elif run.note:
                self._words(paragraph, run, str(run.note), f"#note-{run.note}")
            elif run.text:
                self._words(paragraph, run, run.text, run.link)

    def mark(self, paragraph: Any, name: str) -> None:
        """Add a bookmark to a paragraph, as a target of links."""
        number = next(self._marks)
        start = f'<w:bookmarkStart {nsdecls("w")} w:id="{number}" w:name="{_mark(name)}"/>'
        paragraph._p.append(parse_xml(start))
        paragraph._p.append(parse_xml(f'<w:bookmarkEnd {nsdecls("w")} w:id="{number}"/>'))

    def formula(self, paragraph: Any, tex: str) -> None:
        """Add an editable formula, or its source text if it cannot be converted."""
        mathml = formula_mathml(tex, self.outside)
        if mathml is None:
            self._words(paragraph, Run(code=True), tex.strip(), "")
        else:
            paragraph._p.append(parse_xml(formula_omml(mathml)))

    def _words(self, paragraph: Any, run: Run, text: str, link: str) -> None:
        made = paragraph.add_run(text)
        made.font.rtl = runs_left(text) or None
        made.bold, made.italic = run.bold or None, run.italic or None
        made.font.strike = run.struck or None
        if run.raised or run.lowered:
            side = "superscript" if run.raised else "subscript"
            setattr(made.font, side, True)
        if run.code:
            made.font.name, made.font.size = CODE_FONT, Pt(9.5)
            shade = f'<w:shd {nsdecls("w")} w:val="clear" w:color="auto" w:fill="{FILL}"/>'
            made._r.get_or_add_rPr().append(parse_xml(shade))
        if link:
            self._link(paragraph, made, link)

    def _link(self, paragraph: Any, run: Any, link: str) -> None:
        element: Any = OxmlElement("w:hyperlink")
        if link.startswith("#"):
            element.set(qn("w:anchor"), _mark(link[1:]))
        elif leads_outside(link):
            relation = self.document.part.relate_to(
                link, RELATIONSHIP_TYPE.HYPERLINK, is_external=True
            )
            element.set(qn("r:id"), relation)
        else:
            return
        run.font.color.rgb = RGBColor.from_string(_LINK)
        # python-docx cannot create hyperlinks. The run is added first, for its formatting, and then
        # moved into the link element, which takes its place.
        run._r.addprevious(element)
        element.append(run._r)

    def _picture(self, paragraph: Any, run: Run) -> None:
        found = picture(run.picture, self.outside)
        if found is None:
            self._words(paragraph, Run(italic=True), f"[{run.text or 'picture'}]", "")
            return
        width, height = Inches(found.width), Inches(found.height)
        scale = min(1.0, self.width / max(width, 1), _HIGHEST / max(height, 1))
        shape = paragraph.add_run().add_picture(
            io.BytesIO(found.content), max(1, int(width * scale)), max(1, int(height * scale))
        )
        # The alternative text, for screen readers.
        shape._inline.docPr.set("descr", run.text)


def _mark(name: str) -> str:
    """Return a valid bookmark name (letters, digits and underscores, at most 40)."""
    kept = "".join(char if char.isalnum() else "_" for char in name)
    return f"m_{kept}"[:40]
