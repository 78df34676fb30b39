"""A timeline as one page of HTML: no script, nothing loaded from anywhere, every text escaped.

The page has the style and the symbols of the chat. Calls are folded in batches that show how many
there are and how many failed. A Content-Security-Policy in the page allows only its one style
element and embedded images, so that even a mistake in the escaping could not run or fetch anything.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby

from callblocks.views.chat.timeline_chat import (
    Batch,
    Lost,
    Message,
    ShownItem,
    ThoughtEntry,
    TurnEnded,
)
from callblocks.views.html.page_files import batch_html, file_html, given_html
from callblocks.views.html.page_markdown import line, markdown, text, web_folder

__all__ = (
    "style",
    "timeline_html",
)

# --- The style of a timeline's page: that of the chat, and some rules for the page around it ---
#
# Colours, sizes and spaces are the tokens of the chat. Nothing in it names an address.

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_AROUND = """
*, ::before, ::after { box-sizing: border-box; }
html { scrollbar-gutter: stable; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--canvas); color: var(--text);
  font: var(--t-ui)/var(--lh-ui) var(--sans); }
h1, h2 { margin: 0; font-size: var(--t-ui); font-weight: 600; overflow-wrap: anywhere; }
.top { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s-1) var(--s-3);
  min-height: 3rem; padding: var(--s-2) var(--s-6); border-bottom: 1px solid var(--line); }
.sub { color: var(--text-3); font-variant-numeric: tabular-nums; }
.talk { max-width: calc(var(--measure) + 2 * var(--s-6)); margin: 0 auto;
  padding: var(--s-8) var(--s-6) var(--s-12); }
.turn { display: grid; gap: var(--s-8); grid-template-columns: minmax(0, 1fr); }
.turn + .turn { margin-top: var(--s-12); }
.turn > h2 { margin-bottom: calc(-1 * var(--s-4)); color: var(--text-3);
  font: 500 var(--t-sm)/var(--lh-ui) var(--mono); }
.msg { display: grid; gap: var(--s-3); grid-template-columns: minmax(0, 1fr); }
.msg[data-from="user"] { justify-items: end; }
.msg[data-from="user"] > .prose { max-width: 85%; padding: var(--s-2) var(--s-4);
  border-radius: var(--r-3); background: var(--well); }
.msg > p { margin: 0; overflow-wrap: anywhere; }
.cut { color: var(--text-3); }
.prose .plain { white-space: pre-wrap; }
.call-code { padding-block: var(--s-1); border-left: 2px solid var(--line); }
.call[data-state="failed"] .call-result { color: var(--danger); }
.call-result:has(+ .call-rest[open]) { mask-image: none; }
.call-rest > summary { list-style: none; cursor: pointer; }
.call-rest > summary::-webkit-details-marker { display: none; }
.preview > div { max-height: 30rem; margin-top: var(--s-1); overflow: auto;
  padding: var(--s-3) var(--s-4); border: 1px solid var(--line); border-radius: var(--r-2); }
.preview > div > pre { margin: 0; font: var(--t-code)/var(--lh-code) var(--mono);
  font-variant-ligatures: none; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; }
.artifact-image { max-width: 100%; height: auto; border: 1px solid var(--line);
  border-radius: var(--r-2); }
@media (width < 40rem) {
  .top, .talk { padding-inline: var(--s-4); }
  .turn { gap: var(--s-6); }
  .msg[data-from="user"] > .prose { max-width: 92%; }
}
@media print { .preview > div { max-height: none; } }
"""


@cache
def style() -> str:
    """Return the content of the page's only style element."""
    folder = web_folder() / "css"
    parts = (folder / "tokens.css", folder / "blocks.css")
    sheets = "".join(part.read_text("utf-8") for part in parts)
    return _COMMENT.sub("", sheets) + _AROUND


# --- A timeline as one page of HTML: no script, nothing loaded from anywhere, every text escaped
# ---

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{name} · callblocks</title>
<style>{style}</style>
</head>
<body>
<header class="top"><h1>{name}</h1><span class="sub">{count}</span></header>
<main class="talk">
"""
_END = "</main>\n</body>\n</html>\n"


def timeline_html(name: str, items: Iterable[ShownItem], blocks: int) -> Iterator[str]:
    """The page, piece by piece; `blocks` is how many the timeline has."""
    count = "1 block" if blocks == 1 else f"{blocks} blocks"
    yield _PAGE.format(policy=_policy(), name=line(name), style=style(), count=count)
    for turn, group in groupby(items, key=lambda item: item.turn):
        yield f'<section class="turn"><h2>{line(turn)}</h2>\n'
        for (who, label), said in groupby(group, key=_speaker):
            yield f'<article class="msg" data-from="{who}" aria-label="{line(label)}">\n'
            for item in said:
                yield _item(item)
            yield "</article>\n"
        yield "</section>\n"
    yield _END


@cache
def _policy() -> str:
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    rules = ("default-src 'none'", f"style-src 'sha256-{digest}'", "img-src data:")
    return "; ".join((*rules, "base-uri 'none'", "form-action 'none'"))


def _speaker(item: ShownItem) -> tuple[str, str]:
    """Return the author of an item: a CSS class, and a name for screen readers."""
    is_user = isinstance(item, Message) and item.who == "user"
    return ("user", "User") if is_user else ("model", "Assistant")


def _item(item: ShownItem) -> str:
    match item:
        case Message():
            return _message(item)
        case Batch(calls=calls):
            files = (file for call in calls for file in call.files)
            return batch_html(item) + "".join(map(file_html, files))
        case ThoughtEntry(text=said):
            return _thought(said)
        case Lost(words=words):
            return f'<p class="problem"><span>{line(words)}</span></p>\n'
        case TurnEnded(words=words):
            status = words.partition(" ")[2].partition(":")[0]
            return f'<p class="ending" data-status="{line(status)}">{line(words)}</p>\n'


def _message(item: Message) -> str:
    said = f'<p class="member"><b>{line(item.member)}</b></p>\n' if item.member else ""
    said += f'<div class="prose">{markdown(item.text)}</div>\n' if item.text.strip() else ""
    said += '<p class="cut">… it broke off here</p>\n' if item.is_cut else ""
    return said + "".join(map(given_html, item.files))


def _thought(said: str) -> str:
    return (
        '<details class="reasoning"><summary>Thought</summary>'
        f'<div class="reasoning-text">{text(said.strip())}</div></details>\n'
    )
