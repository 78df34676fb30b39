"""`write_pdf`: a document on pages, with bookmarks, page numbers, title and author."""

from __future__ import annotations

from callblocks.toolkits.rendering.layout import lay_out
from callblocks.toolkits.rendering.markup import page_of
from callblocks.toolkits.rendering.outside import Outside
from callblocks.toolkits.rendering.wire import Job, Made

__all__ = ("write_pdf",)


def write_pdf(job: Job, outside: Outside) -> Made:
    """Render the document as PDF."""
    html = page_of(job, outside)
    laid = lay_out(html, f"@page {{ size: {job.paper.replace('-', ' ')} }}", outside)
    about = laid.metadata
    about.title = job.title or about.title or job.name
    about.authors = [job.author] if job.author else about.authors
    about.generator = "callblocks"
    pages = len(laid.pages)
    outside.say(f"writing {pages} page{'s'[: pages != 1]}")
    return Made(laid.write_pdf(), {"pages": pages})
