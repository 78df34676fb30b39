"""Markdown of a message as HTML for a page that loads nothing.

HTML in it is text. Links lead outside only where they may, and an image becomes a link: nothing is
fetched by looking at a page. Headings stand below those of the page, without gaps. What may scroll
can be reached by the keyboard.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from callblocks.model.link_labels import label_end
from callblocks.views.safe import visible
from callblocks.views.timeline.page_links import is_outside, link_attributes, with_links
from callblocks.views.timeline.page_text import line, lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

__all__ = ("markdown",)

_ALIGNED = {"text-align:right": "num", "text-align:center": "mid"}
_ABOVE, _LOWEST = 2, 6
_LANGUAGE = 40
_DEEPEST = 60
_TABLE = '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n'


def markdown(said: str) -> str:
    """What somebody said, as HTML; what is nested too deep to be meant is shown as written."""
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
    # What this library asks, it asks by this name.
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
