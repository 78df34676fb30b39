"""PDF: the text of each page."""

from __future__ import annotations

import io
from collections.abc import Iterator

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from callblocks.toolkits.search.chunks import Unreadable
from callblocks.toolkits.search.reader_process import ReaderLine

__all__ = ("MAX_PAGES", "read_pdf")

# Maximum pages that are read of one file.
MAX_PAGES = 2_000

_PAGE_LENGTH = 200_000


def read_pdf(content: bytes) -> Iterator[ReaderLine]:
    """Yield the title, then the pages; damaged pages are skipped."""
    try:
        reader = PdfReader(io.BytesIO(content))
        # Many PDFs are encrypted with an empty user password; readers open them without asking.
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is locked by a password; give a copy without one")
        pages = len(reader.pages)
    except PyPdfError as error:
        # The message of the error is not passed on: it may quote text of the file.
        raise Unreadable(f"it is no PDF that can be read ({type(error).__name__})") from error
    yield ReaderLine(title=_title(reader))
    for number in range(min(pages, MAX_PAGES)):
        yield ReaderLine(text=_page(reader, number), page=number + 1, of=pages)
    if pages > MAX_PAGES:
        yield ReaderLine(left_out=f"it has {pages} pages; the first {MAX_PAGES} were read")


def _title(reader: PdfReader) -> str:
    try:
        said = reader.metadata.title if reader.metadata else None
    except Exception:  # what a file says of itself may be anything
        return ""
    return said[:120] if isinstance(said, str) else ""


def _page(reader: PdfReader, number: int) -> str:
    try:
        return reader.pages[number].extract_text()[:_PAGE_LENGTH]
    except (MemoryError, RecursionError):
        raise
    except Exception:  # one damaged page must not hide the others
        return ""
