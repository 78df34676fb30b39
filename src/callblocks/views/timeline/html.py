"""A timeline as one page of HTML: no script, nothing loaded from anywhere, every text escaped.

It looks as the chat does, with its style and its marks. Calls are folded in batches that say how
many there are and how many failed. A policy in the page itself forbids all but that one style and
pictures in the page, so that even a mistake here could not run or fetch something.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby

from callblocks.views.timeline.chat import Batch, Ended, Lost, Message, ShownItem, Thought
from callblocks.views.timeline.page_calls import batch_html
from callblocks.views.timeline.page_files import file_html, given_html
from callblocks.views.timeline.page_markdown import markdown
from callblocks.views.timeline.page_text import line, text
from callblocks.views.timeline.style import style

__all__ = ("timeline_html",)

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
    """Who an item is of, for the page's style and for a reader's ears."""
    is_user = isinstance(item, Message) and item.who == "user"
    return ("user", "User") if is_user else ("model", "Assistant")


def _item(item: ShownItem) -> str:
    match item:
        case Message():
            return _message(item)
        case Batch(calls=calls):
            files = (file for call in calls for file in call.files)
            return batch_html(item) + "".join(map(file_html, files))
        case Thought(text=said):
            return _thought(said)
        case Lost(words=words):
            return f'<p class="problem"><span>{line(words)}</span></p>\n'
        case Ended(words=words):
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
