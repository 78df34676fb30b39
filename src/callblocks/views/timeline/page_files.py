"""Files on a page: a card with name, size and path, and what of it can be seen without a program.

Pictures of types that only show a picture, Markdown, tables of comma-separated values, and other
text stand in the page. A PDF and the rest are named.
"""

from __future__ import annotations

import base64
import binascii
import csv
import html

from callblocks.model.shown import format_size
from callblocks.views.timeline.files import ShownFile
from callblocks.views.timeline.page_markdown import markdown
from callblocks.views.timeline.page_text import line, lines, text
from callblocks.views.timeline.page_thumbs import thumb_html

__all__ = ("IMAGES", "file_html", "given_html")

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The types that are shown: none of them can hold a script or an address."""

_ROWS, _CELLS = 200, 50


def file_html(file: ShownFile) -> str:
    """A file that a call made: a card, and below it the content where there is one to show."""
    name = _name(file)
    return (
        f'<section class="artifact" aria-label="Artifact {line(name)}">'
        f'{thumb_html(file)}<div class="artifact-text">'
        f'<div class="artifact-name">{line(name)}</div>'
        f'<div class="artifact-meta">{_about(file)}</div>'
        f'<div class="artifact-path">{line(file.path)}</div></div></section>\n{_content(file)}'
    )


def given_html(file: ShownFile) -> str:
    """A file that the person gave: its name, and below it the content."""
    return (
        f'<div class="file">{thumb_html(file)}<span class="artifact-text">'
        f'<span class="artifact-name">{line(_name(file))}</span>'
        f'<span class="artifact-meta">{_about(file)}</span></span></div>\n{_content(file)}'
    )


def _name(file: ShownFile) -> str:
    return file.path.rpartition("/")[2] or file.path


def _about(file: ShownFile) -> str:
    """The type and the size."""
    return line(file.mime) + ("" if file.size is None else f" · {format_size(file.size)}")


def _content(file: ShownFile) -> str:
    name = line(_name(file))
    if file.mime in IMAGES and (image := _image(file.image)):
        source = f"data:{file.mime};base64,{image}"
        return f'<img class="artifact-image" alt="{name}" src="{source}">\n'
    if not file.text:
        return ""
    match file.mime:
        case "text/markdown":
            shown = f'<div class="prose">{markdown(file.text)}</div>'
        case "text/csv":
            shown = _table(file.text)
        case _:
            shown = _plain(file.text)
    return (
        f'<details class="reasoning preview"><summary>Content of {name}</summary>'
        f'<div tabindex="0" role="group" aria-label="{name}">{shown}</div></details>\n'
    )


def _image(said: str) -> str:
    """Base64 that is nothing else, or nothing."""
    try:
        return base64.b64encode(base64.b64decode(said, validate=True)).decode()
    except (binascii.Error, ValueError):
        return ""


def _plain(said: str) -> str:
    # A line feed that begins a `pre` is not shown: one more is.
    return f"<pre>\n{text(said)}</pre>"


def _table(said: str) -> str:
    """The first rows as a table; what is no table of values stands as text."""
    try:
        rows = [row for row in csv.reader(lines(said).splitlines()) if row]
    except csv.Error:
        rows = []
    if not rows:
        return _plain(said)
    more = max(0, len(rows) - 1 - _ROWS)
    rest = f"<p>... ({more} more rows)</p>" if more else ""
    body = "".join(_row(row, "td") for row in rows[1 : _ROWS + 1])
    return (
        '<div class="prose"><div class="table">'
        f"<table><thead>{_row(rows[0], 'th')}</thead><tbody>{body}</tbody></table></div>"
        f"{rest}</div>"
    )


def _row(cells: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells[:_CELLS])}</tr>"
