"""The tools that write documents: `rendering_tools.write_pdf` and its siblings.

Each takes its text as `content`, or names a file as `source`, and returns facts about the document,
such as its pages. The path is not part of the result: it is the one of the call.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from callblocks.toolkits.documents.render_protocol import Kind, Paper, RenderJob
from callblocks.toolkits.documents.write_document import (
    SECONDS,
    DocumentPlace,
    require_text,
    target_of,
    write_document,
)
from callblocks.toolkits.file_tools import PathText
from callblocks.tools.declare import Options, declared
from callblocks.tools.tool import Context, Tool

__all__ = ("rendering_tools",)

_SLACK = 30
_PREVIEW = 2_000

_Source = Annotated[str, Field(json_schema_extra={"format": "path"})]
_Width = Annotated[int, Field(ge=200, le=2_000)]
_Row = list[str | int | float | bool | None] | dict[str, str | int | float | bool | None]


def rendering_tools(place: DocumentPlace) -> tuple[Tool, ...]:
    """Return the five tools for one place."""
    return (_pdf(place), _png(place), _docx(place), _pptx(place), _xlsx(place))


def _options(place: DocumentPlace, kind: Kind) -> Options:
    def preview(path: str, content: str = "", source: str = "", **_: object) -> str:
        target = target_of(place, path, kind)
        more = "…" if len(content) > _PREVIEW else ""
        return f"{target}\n\n{content[:_PREVIEW]}{more}" if content else f"{target} from {source}"

    def precheck(content: str = "", source: str = "", rows: object = None, **_: object) -> None:
        require_text(place, content, source, rows)

    return {
        "name": f"rendering_tools.write_{kind}",
        # In a turn a tool replaces only files of that turn, and the replaced version is kept.
        "destructive": place.replaces,
        "idempotent": True,
        "kind": "writer",
        "result": "rendering",
        "body": "content",
        "timeout": SECONDS + _SLACK,
        "preview": preview,
        "precheck": precheck,
        "paths": lambda given: place.judged(given["path"], given.get("source", "")),
        "origin": "external",
    }


def _pdf(place: DocumentPlace) -> Tool:
    @declared(**_options(place, "pdf"))
    def write_pdf(
        path: PathText,
        context: Context,
        content: str = "",
        source: _Source = "",
        format: Literal["markdown", "html"] = "markdown",
        title: str = "",
        author: str = "",
        paper: Paper = "a4",
    ) -> dict[str, Any]:
        """Write a PDF from Markdown or HTML: with page numbers, tables, coloured code, formulas.

        Pictures in it are files of this timeline, by name, such as rain.png. Nothing is fetched.
        Cite sources as [[S:1]]: they become numbers, with a list at the end.

        Args:
            path: the name of the file, such as report.pdf
            content: the text; or give source
            source: a file that holds the text, such as report.md
            format: what the text is
            title: the title, if not the first heading
            author: who wrote it
            paper: the size of its pages
        """
        job = RenderJob(
            kind="pdf",
            name=path,
            content=content,
            format=format,
            title=title,
            author=author,
            paper=paper,
        )
        return write_document(place, job, source, context)

    return write_pdf


def _png(place: DocumentPlace) -> Tool:
    @declared(**_options(place, "png"))
    def write_png(
        path: PathText,
        context: Context,
        content: str = "",
        source: _Source = "",
        format: Literal["markdown", "html"] = "markdown",
        width: _Width = 800,
    ) -> dict[str, Any]:
        """Write a picture of a page of Markdown or HTML, as high as what stands on it.

        Args:
            path: the name of the file, such as card.png
            content: the text; or give source
            source: a file that holds the text, such as card.html
            format: what the text is
            width: how wide the page is, in pixels; the picture has twice as many
        """
        job = RenderJob(kind="png", name=path, content=content, format=format, width=width)
        return write_document(place, job, source, context)

    return write_png


def _docx(place: DocumentPlace) -> Tool:
    @declared(**_options(place, "docx"))
    def write_docx(
        path: PathText,
        context: Context,
        content: str = "",
        source: _Source = "",
        title: str = "",
        author: str = "",
        paper: Paper = "a4",
    ) -> dict[str, Any]:
        """Write a Word document from Markdown, with real headings, lists, tables and formulas.

        Pictures and citations are as for rendering_tools.write_pdf.

        Args:
            path: the name of the file, such as letter.docx
            content: the Markdown; or give source
            source: a file that holds it, such as letter.md
            title: the title, if not the first heading
            author: who wrote it
            paper: the size of its pages
        """
        job = RenderJob(
            kind="docx",
            name=path,
            content=content,
            title=title,
            author=author,
            paper=paper,
        )
        return write_document(place, job, source, context)

    return write_docx


def _pptx(place: DocumentPlace) -> Tool:
    @declared(**_options(place, "pptx"))
    def write_pptx(
        path: PathText,
        context: Context,
        content: str = "",
        source: _Source = "",
        title: str = "",
        author: str = "",
    ) -> dict[str, Any]:
        """Write slides from Markdown: each heading # or ##, and each line ---, begins a slide.

        A first heading with a line below it is the title slide. Keep slides short: what does not
        fit goes on to a next one. Pictures and citations are as for rendering_tools.write_pdf.

        Args:
            path: the name of the file, such as board.pptx
            content: the Markdown; or give source
            source: a file that holds it, such as board.md
            title: the title, if not the first heading
            author: who presents
        """
        job = RenderJob(kind="pptx", name=path, content=content, title=title, author=author)
        return write_document(place, job, source, context)

    return write_pptx


def _xlsx(place: DocumentPlace) -> Tool:
    @declared(**_options(place, "xlsx"))
    def write_xlsx(
        path: PathText,
        context: Context,
        content: str = "",
        source: _Source = "",
        format: Literal["markdown", "csv"] = "markdown",
        rows: list[_Row] | None = None,
        title: str = "",
        author: str = "",
    ) -> dict[str, Any]:
        """Write an Excel workbook: a sheet for each table of the Markdown, or one of CSV or rows.

        Numbers, percentages and dates are entered as such; formulas like =SUM(B2:B9) reckon.

        Args:
            path: the name of the file, such as prices.xlsx
            content: Markdown with tables, each below a heading that names its sheet, or CSV
            source: a file that holds it, such as prices.csv
            format: what the text is
            rows: the rows of one sheet instead, lists or objects; the first list is the head
            title: the title of the workbook, and the name of a single sheet
            author: who made it
        """
        job = RenderJob(
            kind="xlsx",
            name=path,
            content=content,
            format=format,
            rows=None if rows is None else [*rows],
            title=title,
            author=author,
        )
        return write_document(place, job, source, context)

    return write_xlsx
