"""Markdown of a message as HTML for a page that loads nothing.

HTML in it is escaped. Links lead only to allowed schemes, and an image becomes a link: opening a
page fetches nothing. Headings continue the levels of the page, without gaps. Elements that scroll
can be focused with the keyboard.
"""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import SplitResult, urlsplit

from callblocks.core.call_text import show_result
from callblocks.core.errors import CallblocksError
from callblocks.core.text import label_end
from callblocks.views.rows import visible, visible_line

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

__all__ = (
    "LONGEST",
    "is_outside",
    "line",
    "lines",
    "link_attributes",
    "markdown",
    "text",
    "web_folder",
    "with_links",
)

# --- Links in Markdown: only to http, https and mailto, and with the target's host shown ---
#
# https://a.example/x          a link, also where it stands alone in the text
# javascript:…, data:…, //x    text
# [bank.example](https://b.example)      "bank.example (b.example)"

_SCHEMES = ("http", "https", "mailto")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_ALONE = re.compile(r"https?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}*_~]", re.IGNORECASE)
_NAMED = re.compile(
    r"\s*(?:[a-z]+://)?((?:[^\s/@:.]+\.)+[a-z]{2,})(?=[\s/:?#]|\Z)", re.ASCII | re.IGNORECASE
)


def is_outside(address: str) -> bool:
    """Return whether an address is absolute, has an allowed scheme, and names no user."""
    parts = _split(address)
    if parts is None or parts.scheme not in _SCHEMES:
        return False
    return parts.scheme == "mailto" or (bool(parts.netloc) and "@" not in parts.netloc)


def link_attributes(address: str) -> dict[str, str | int | float]:
    """Return the attributes of a link: no referrer is sent, and the title shows the target."""
    return {
        "href": address,
        "rel": "noopener noreferrer nofollow",
        "target": "_blank",
        "title": visible_line(address),
    }


def with_links(tokens: Iterable[Token]) -> Iterator[Token]:
    """Return the tokens of a text with complete links; bare addresses become links."""
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
    """Split a text at the addresses in it."""
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
    """Return the host of a link's target if the link text names another host."""
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


# --- Untrusted text for a page: escaped, without control characters and bidi overrides ---

LONGEST = 200_000
"""Characters of one text that stand in a page; all of it is in the timeline."""


def line(said: str) -> str:
    """Return a text on one line, escaped also for an attribute in double quotes."""
    return html.escape(visible_line(said))


def lines(said: str) -> str:
    """A text with its lines, without secrets, cut only where it is very long; not escaped yet."""
    return visible(show_result(said, LONGEST)[0])


def text(said: str) -> str:
    """The same, escaped."""
    return html.escape(lines(said))


# --- Markdown of a message as HTML for a page that loads nothing ---

_ALIGNED = {"text-align:right": "num", "text-align:center": "mid"}
_ABOVE, _LOWEST = 2, 6
_LANGUAGE = 40
_DEEPEST = 60
_TABLE = '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n'


def markdown(said: str) -> str:
    """Return a message as HTML; Markdown that is nested too deep is shown as plain text."""
    reader, safe = _reader(), lines(said)
    tokens = reader.parse(safe)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return f'<p class="plain">{html.escape(safe)}</p>\n'
    return reader.renderer.render(tokens, reader.options, {})


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt, helpers

    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST}).enable(
        ["table", "strikethrough"]
    )
    # The library's own search for the end of a label takes 45 microseconds for each `[`.
    vars(reader)["helpers"] = SimpleNamespace(**(vars(helpers) | {"parseLinkLabel": label_end}))
    # markdown-it calls this attribute for the target of each link.
    vars(reader)["validateLink"] = is_outside
    reader.core.ruler.push("callblocks", _finish)
    for name, rule in _RULES.items():
        reader.add_render_rule(name, rule)
    return reader


def _finish(state: StateCore) -> None:
    above = level = _ABOVE
    for token in state.tokens:
        match token.type:
            case "inline":
                token.children = list(with_links(token.children or []))
            case "heading_open":
                depth = int(token.tag[1])
                above = level = min(depth + _ABOVE, above + 1, _LOWEST)
                token.attrs, token.tag = {"data-depth": depth}, f"h{level}"
            case "heading_close":
                token.tag = f"h{level}"
            case "th_open" | "td_open":
                _align(token)
            case _:
                pass


def _align(token: Token) -> None:
    """The policy of the page forbids a style in an attribute."""
    style = str(token.attrs.pop("style", ""))
    if style in _ALIGNED:
        token.attrs["class"] = _ALIGNED[style]


def _code(_: RendererHTML, tokens: Sequence[Token], at: int, *__: Any) -> str:
    """A block of code under the name of its language."""
    language = line("".join(tokens[at].info.split(maxsplit=1)[:1])[:_LANGUAGE])
    label = f"Code, {language}" if language else "Code"
    return (
        f'<div class="code"><div class="code-head"><span>{language}</span></div>'
        f'<pre tabindex="0" role="group" aria-label="{label}">'
        f"<code>{html.escape(visible(tokens[at].content))}</code></pre></div>\n"
    )


def _image(writer: RendererHTML, tokens: Sequence[Token], at: int, *rest: Any) -> str:
    token = tokens[at]
    words = writer.renderInlineAsText(token.children, *cast("tuple[Any, Any]", rest[:2]))
    address = str(token.attrs["src"])
    said = link_attributes(address)
    attributes = "".join(f' {key}="{html.escape(str(value))}"' for key, value in said.items())
    return f"<a{attributes}>{html.escape(visible(words or address))}</a>"


def _open_table(*_: Any) -> str:
    return _TABLE


def _close_table(*_: Any) -> str:
    return "</table></div>\n"


_RULES = {
    "fence": _code,
    "code_block": _code,
    "image": _image,
    "table_open": _open_table,
    "table_close": _close_table,
}


# --- The files of the pages: `web/` beside `src/` in a checkout, else `callblocks/web.zip` ---


@cache
def web_folder() -> Path | zipfile.Path:
    """Return the folder with the pages, their scripts and their styles.

    A wheel has it as an archive, which takes a third of the room.
    """
    package = Path(__file__).resolve().parents[2]
    archive, folder = package / "web.zip", package.parents[1] / "web"
    if archive.is_file():
        return zipfile.Path(archive)
    if (folder / "css" / "tokens.css").is_file():
        return folder
    raise CallblocksError(f"no web folder in {package}: install callblocks again")
