"""The text of an HTML page or mail, as a person reads it.

    <p>Hello <b>you</b>,<br>see <a href="https://a.example/">here</a></p>

    Hello you,
    see here <https://a.example/>

Any text is accepted: an element that is never closed ends with the text. Each character is examined
a fixed number of times, however broken the page is, so the cost is linear. That is why this is no
regular expression over whole elements, and no tree.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

__all__ = ("Kind", "break_of", "html_text", "name_of", "pieces", "plain", "tidy")

Kind: TypeAlias = Literal["text", "tag", "title"]

# Elements whose content is not shown. It is skipped up to the end tag as plain text, as the HTML
# standard does for scripts: a `<` inside of a script is no tag.
_UNSEEN = ("script", "style", "title", "template", "noscript")
_UNSEEN_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in _UNSEEN}
_LINES = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd"),
        *("details", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form"),
        *("header", "hr", "html", "li", "main", "nav", "ol", "pre", "section", "summary", "table"),
        *("tbody", "tfoot", "thead", "tr", "ul"),
    )
)
_PARAGRAPHS = frozenset(("p", "h1", "h2", "h3", "h4", "h5", "h6"))
# `<` followed by anything else is text, as in `a < b`.
_TAG = re.compile(r"<[A-Za-z/!?]")
_NAME = re.compile(r"/?([A-Za-z][A-Za-z0-9]*)")
_HREF = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_ALT = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\n\f\u200b\u200c\u00ad\ufeff]+")
# Longer links are mostly tracking addresses, which cost tokens and say little.
_LONGEST_LINK = 300
_LONGEST_TAG = 5_000


def html_text(page: str) -> str:
    """Return the text of a page, a line for each block, with the addresses of links."""
    written: list[str] = []
    link = ""
    for kind, text in pieces(page):
        if kind != "tag":
            written.append(plain(text) if kind == "text" else "")
            continue
        name = name_of(text)
        if name == "a":
            # The address follows the text of the link, at its end tag.
            if text.startswith("/"):
                written.append(_shown_link(link, written))
            link = "" if text.startswith("/") else _attribute(_HREF, text)
        elif name == "img":
            written.append(_attribute(_ALT, text))
        else:
            written.append(break_of(name, text))
    return tidy("".join(written))


def pieces(page: str) -> Iterator[tuple[Kind, str]]:
    """Yield the text, the tags and the title of a page; comments, scripts and styles are
    skipped.
    """
    at = 0
    while (start := page.find("<", at)) >= 0:
        yield "text", page[at:start]
        if page.startswith("<!--", start):
            at = _after(page, "-->", start)
            continue
        if not _TAG.match(page, start):
            yield "text", "<"
            at = start + 1
            continue
        # A `>` in a quoted attribute ends the tag early. That leaves some attribute text in the
        # result, which is harmless, and keeps the search linear on unbalanced quotes.
        end = page.find(">", start)
        if end < 0:
            break
        tag = page[start + 1 : end]
        at = end + 1
        yield "tag", tag
        name = name_of(tag)
        unseen = _UNSEEN_ENDS.get(name)
        if unseen and not tag.startswith("/") and not tag.endswith("/"):
            # Without an end tag the rest of the page belongs to the element, as in a browser.
            closing = unseen.search(page, at)
            end = closing.start() if closing else len(page)
            if name == "title":
                yield "title", page[at:end]
            at = end
    yield "text", page[max(at, start) :]


def _after(page: str, mark: str, at: int) -> int:
    found = page.find(mark, at)
    return found + len(mark) if found >= 0 else len(page)


def plain(text: str) -> str:
    """Return a piece of text with blanks collapsed and character references decoded."""
    return _BLANKS.sub(" ", _unescaped(text))


def name_of(tag: str) -> str:
    """Return the name of a start or end tag."""
    found = _NAME.match(tag)
    return found[1].lower() if found else ""


def _attribute(pattern: re.Pattern[str], tag: str) -> str:
    found = pattern.search(tag, 0, _LONGEST_TAG)
    return _unescaped(next(filter(None, found.groups()), "")).strip() if found else ""


def _unescaped(text: str) -> str:
    # Python limits the digits of an integer, and a character reference is one.
    try:
        return html.unescape(text)
    except ValueError:  # a number with thousands of digits
        return text


def _shown_link(link: str, written: list[str]) -> str:
    is_web = link.partition(":")[0].lower() in ("http", "https") and len(link) <= _LONGEST_LINK
    # Only web links, and not where the text of the link is the address already.
    if not is_web or (written and written[-1].strip() == link):
        return ""
    return f" <{link}>"


def break_of(name: str, tag: str) -> str:
    """Return the separator that a tag puts between the words around it."""
    if name == "li" and not tag.startswith("/"):
        return "\n- "
    if name in _PARAGRAPHS:
        return "\n\n"
    if name in ("td", "th"):
        return " "
    return "\n" if name in _LINES else ""


def tidy(text: str) -> str:
    """Strip the ends of lines, and keep at most one empty line in a row."""
    lines = [line.strip() for line in _collapsed(text).split("\n")]
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).strip()


def _collapsed(text: str) -> str:
    return re.sub(r"[ \u00a0]+", " ", text)
