"""The list of sources at the end of a page."""

from __future__ import annotations

from html import escape

from callblocks.toolkits.rendering.citing import References
from callblocks.toolkits.rendering.links import leads_outside
from callblocks.toolkits.rendering.wire import Cited

__all__ = ("source_list",)


def source_list(references: References) -> str:
    """Return the cited sources as an HTML list by number; "" for none."""
    if not references.listed:
        return ""
    items = "".join(_source(number, source) for number, source in references.listed)
    return f'<section class="sources"><h2>Sources</h2><ol>{items}</ol></section>'


def _source(number: int, source: Cited) -> str:
    title = escape(source.title or source.address or f"Source {source.sid}")
    address = escape(source.address)
    is_link = leads_outside(source.address)
    link = f'<a href="{address}">{address}</a>' if is_link else address
    said = [f"<strong>{title}</strong>", link if source.title else "", escape(source.date)]
    return f'<li id="source:{number}"><b>[{number}]</b>{"<br>".join(filter(None, said))}</li>'
