"""Links in Markdown that a page may have: to http, https or mail, and they say where they lead.

https://a.example/x          a link, also where it stands alone in the text
javascript:…, data:…, //x    text
[bank.example](https://b.example)      "bank.example (b.example)"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from callblocks.views.safe import visible, visible_line

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ("is_outside", "link_attributes", "with_links")

_SCHEMES = ("http", "https", "mailto")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_ALONE = re.compile(r"https?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}*_~]", re.IGNORECASE)
_NAMED = re.compile(
    r"\s*(?:[a-z]+://)?((?:[^\s/@:.]+\.)+[a-z]{2,})(?=[\s/:?#]|\Z)", re.ASCII | re.IGNORECASE
)


def is_outside(address: str) -> bool:
    """Whether an address is written in full, leads to the web or to mail, and names no user."""
    parts = _split(address)
    if parts is None or parts.scheme not in _SCHEMES:
        return False
    return parts.scheme == "mailto" or (bool(parts.netloc) and "@" not in parts.netloc)


def link_attributes(address: str) -> dict[str, str | int | float]:
    """The attributes of a link: it tells nobody where it stands, and shows where it leads."""
    return {
        "href": address,
        "rel": "noopener noreferrer nofollow",
        "target": "_blank",
        "title": visible_line(address),
    }


def with_links(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens of a text, with links finished and addresses that stand alone made links."""
    link: Token | None = None
    words = ""
    for token in tokens:
        if token.type == "link_open":
            link, words = token, ""
            token.attrs = link_attributes(str(token.attrs["href"]))
        elif token.type == "link_close" and link is not None:
            if host := _other_host(words, str(link.attrs["href"])):
                yield token.copy(type="text", tag="", nesting=0, content=f" ({host})")
            link = None
        token.content = visible(token.content)
        words += token.content
        if token.type == "text" and link is None and "://" in token.content:
            yield from _apart(token)
        else:
            yield token


def _apart(token: Token) -> Iterator[Token]:
    """A text apart at the addresses in it."""
    end = 0
    for found in filter(_leads_outside, _ALONE.finditer(token.content)):
        yield token.copy(content=token.content[end : found.start()])
        attributes = link_attributes(found[0])
        yield token.copy(type="link_open", tag="a", nesting=1, content="", attrs=attributes)
        yield token.copy(content=found[0])
        yield token.copy(type="link_close", tag="a", nesting=-1, content="")
        end = found.end()
    yield token.copy(content=token.content[end:])


def _leads_outside(found: re.Match[str]) -> bool:
    return is_outside(found[0])


def _other_host(words: str, address: str) -> str:
    """The host that a link leads to, where its words name another one."""
    parts, named = _split(address), _NAMED.match(words)
    host = parts.hostname if parts is not None else None
    if named is None or not host or _bare(named[1]) == _bare(host):
        return ""
    return visible_line(host)


def _bare(host: str) -> str:
    return host.lower().removeprefix("www.")


def _split(address: str) -> SplitResult | None:
    if _UNSAFE.search(address):
        return None
    try:
        return urlsplit(address)
    except ValueError:
        return None
