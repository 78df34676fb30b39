"""Layout of HTML on pages by WeasyPrint, without network access and with a page limit."""

# The package has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUntypedBaseClass=false

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any, ClassVar, cast

from callblocks.toolkits.rendering.faults import Unrenderable
from callblocks.toolkits.rendering.fonts import tell_missing
from callblocks.toolkits.rendering.links import without_doors
from callblocks.toolkits.rendering.outside import Outside

__all__ = ("PAGES", "lay_out")

# Pages of one document.
PAGES = 500

# The base of relative URLs. The fetcher maps it to files of the timeline; `.invalid` never
# resolves.
_HERE = "http://timeline.invalid/"
_PAGE = re.compile(r"Page (\d+)")
_SHOWN = 80
_SHEET = Path(__file__).with_name("page.css")


def lay_out(html: str, page: str, outside: Outside) -> Any:
    """Lay out a document; `page` is an `@page` rule in CSS."""
    from weasyprint import CSS, HTML

    fetcher = _fetcher(outside)
    # WeasyPrint has no hook for progress or limits, but it logs each page. The log handlers report
    # progress and raise to stop a document that never ends.
    heard = _Steps(outside)
    steps, words = logging.getLogger("weasyprint.progress"), logging.getLogger("weasyprint")
    words.handlers, words.propagate = [_Broken(outside, fetcher.given)], False
    steps.handlers, steps.propagate = [heard], False
    steps.setLevel(logging.INFO)
    read = HTML(string=html, base_url=_HERE, url_fetcher=fetcher)
    tree: Any = read.etree_element
    without_doors(tree)
    shown: list[str] = [*tree.itertext()]
    tell_missing("".join(shown), outside)
    # The style sheet of the page comes last, so that its `@page` rule wins over that of the file.
    sheets = [CSS(string=_SHEET.read_text(), url_fetcher=fetcher), CSS(string=page)]
    return read.render(stylesheets=sheets)


class _Steps(logging.Handler):
    """A log handler that reports each page and stops at the page limit."""

    def __init__(self, outside: Outside) -> None:
        super().__init__()
        self._outside = outside
        self._last = 0

    def emit(self, record: logging.LogRecord) -> None:
        match = _PAGE.search(record.getMessage())
        number = int(match[1]) if match else 0
        if number > PAGES:
            words = f"it has more than {PAGES} pages; give it in parts"
            raise Unrenderable("document_too_large", words)
        if number > self._last:
            self._last = number
            self._outside.say(f"page {number}")


class _Broken(logging.Handler):
    """A log handler that reports files that are no pictures; missing ones were reported before."""

    def __init__(self, outside: Outside, given: dict[str, str]) -> None:
        super().__init__()
        self._outside = outside
        self._given = given

    def emit(self, record: logging.LogRecord) -> None:
        args = cast("tuple[object, ...]", record.args or ("",))
        url = str(args[0]) if isinstance(record.args, tuple) else ""
        if record.msg.startswith("Failed to load image") and url in self._given:
            name = self._given[url]
            words = f"{name} is no picture that a document can show"
            self._outside.tell("image_broken", words, name=name)


def _fetcher(outside: Outside) -> Any:
    from weasyprint.urls import URLFetcher, URLFetcherResponse

    class Files(URLFetcher):
        """A fetcher that asks the parent process for files and cannot reach anything else."""

        given: ClassVar[dict[str, str]] = {}

        def fetch(self, url: str, headers: Any = None) -> Any:
            content = outside.file(url.removeprefix(_HERE))
            if content is None:
                raise ValueError("no such file")
            self.given[url] = url.removeprefix(_HERE)[:_SHOWN]
            return URLFetcherResponse(url, content)

    return Files()
