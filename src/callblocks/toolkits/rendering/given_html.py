"""HTML input: citations become references, everything else stays."""

# One of the packages has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from callblocks.model.citations import CITATION
from callblocks.toolkits.rendering.citing import References
from callblocks.toolkits.rendering.faults import Unrenderable
from callblocks.toolkits.rendering.outside import Outside
from callblocks.toolkits.rendering.source_list import source_list
from callblocks.toolkits.rendering.wire import Job

__all__ = ("given_html",)


def given_html(job: Job, outside: Outside) -> str:
    """Return the given HTML with its citations resolved and the list of sources."""
    if not job.content.strip():
        raise Unrenderable("document_empty", "there is nothing to show; give some content")
    references = References(job.sources)
    html = _cite(job.content, references) if CITATION.search(job.content) else job.content
    references.tell(outside)
    return f"{html}{source_list(references)}"


def _cite(html: str, references: References) -> str:
    """Replace citations in text nodes; attributes stay."""
    from tinyhtml5 import parse

    tree: Any = parse(html, namespace_html_elements=False)
    # ElementTree has no text nodes: text is in `.text` and `.tail`. Scripts and styles are code.
    for element in tree.iter():
        if not isinstance(element.tag, str) or element.tag in ("script", "style", "title"):
            continue
        _cite_in(element, references)
    return "<!doctype html>" + ElementTree.tostring(tree, encoding="unicode", method="html")


def _cite_in(element: Any, references: References) -> None:
    """Replace the citations in the text of an element and in the tails of its children."""
    for place, text in [(None, element.text), *((child, child.tail) for child in list(element))]:
        links: list[Any] = []
        rest, kept = text or "", ""
        while match := CITATION.search(rest):
            numbers = references.numbers(match[1])
            kept += rest[: match.start()] if numbers else rest[: match.end()]
            rest = rest[match.end() :]
            for number in numbers:
                link = ElementTree.Element("a", {"class": "cite", "href": f"#source:{number}"})
                link.text = f"[{number}]"
                _put(links, element, place, kept)
                kept = ""
                links.append(link)
        _put(links, element, place, kept + rest)
        at = 0 if place is None else list(element).index(place) + 1
        for link in reversed(links):
            element.insert(at, link)


def _put(links: list[Any], element: Any, place: Any, text: str) -> None:
    """Append text behind the last link, or set it before the first one."""
    if links:
        links[-1].tail = (links[-1].tail or "") + text
    elif place is None:
        element.text = text
    else:
        place.tail = text
