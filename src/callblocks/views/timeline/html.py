"""A timeline as one page of HTML: no script, nothing loaded from anywhere, every text escaped.

Calls are folded in batches that say how many there are and how many failed. Images stand in
the page where their type is one that only shows a picture. A policy in the page itself forbids
everything else, so that even a mistake here could not run or fetch something.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import html
from collections.abc import Iterable, Iterator
from itertools import groupby

from callblocks.model.shown import show_result
from callblocks.views.safe import visible, visible_line
from callblocks.views.timeline.calls import ShownCall
from callblocks.views.timeline.chat import LONGEST, Batch, Ended, Lost, Message, ShownItem
from callblocks.views.timeline.files import ShownFile
from callblocks.views.timeline.style import STYLE

__all__ = ("IMAGES", "timeline_html")

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The types that are shown: none of them can hold a script or an address."""

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
_TOGGLE = (
    '<span class="batch-toggle"><span class="when-closed">(show details)</span>'
    '<span class="when-open">(hide details)</span></span>'
)
_SHORT = 60


def timeline_html(name: str, items: Iterable[ShownItem], blocks: int) -> Iterator[str]:
    """The page, piece by piece; `blocks` is how many the timeline has."""
    count = "1 block" if blocks == 1 else f"{blocks} blocks"
    yield _PAGE.format(policy=_policy(), name=_line(name), style=STYLE, count=count)
    for turn, group in groupby(items, key=lambda item: item.turn):
        yield f'<section class="turn"><h2>{_line(turn)}</h2>\n'
        for item in group:
            yield _item(item)
        yield "</section>\n"
    yield _END


def _policy() -> str:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    rules = ("default-src 'none'", f"style-src 'sha256-{digest}'", "img-src data:")
    return "; ".join((*rules, "base-uri 'none'", "form-action 'none'"))


def _item(item: ShownItem) -> str:
    match item:
        case Message():
            return _message(item)
        case Batch():
            return _batch(item)
        case Lost(words=words):
            return f'<p class="lost">{_line(words)}</p>\n'
        case Ended(words=words):
            return f'<p class="ended">{_line(words)}</p>\n'


def _message(item: Message) -> str:
    said = f'<p class="member">{_line(item.member)}</p>' if item.member else ""
    said += f'<p class="prose">{_text(item.text)}</p>' if item.text else ""
    said += '<p class="cut">… it broke off here</p>' if item.is_cut else ""
    files = "".join(map(_file, item.files))
    head = f'<article class="msg" data-from="{item.who}" aria-label="{_line(item.name)}">'
    return f"{head}{said}{files}</article>\n"


def _batch(batch: Batch) -> str:
    calls = batch.calls
    one = len(calls) == 1
    label = f"<code>{_line(calls[0].name)}</code>" if one else f"{len(calls)} tool calls"
    failed = sum(call.failed for call in calls)
    words = "failed" if one else f"{failed} failed"
    fault = f', <span class="batch-failed">{words}</span>' if failed else ""
    return (
        '<details class="batch"><summary><span class="batch-icon" aria-hidden="true">🔧</span>'
        f'<span class="batch-label">{label}{fault}</span>{_TOGGLE}</summary>\n'
        f'<ol class="calls">\n{"".join(map(_call, calls))}</ol></details>\n'
    )


def _call(call: ShownCall) -> str:
    state = "failed" if call.failed else "done"
    name, paren, rest = call.line.partition("(")
    parts = [
        f'<li class="call" data-state="{state}"><p class="call-line">',
        f'<span class="call-name">{_line(name)}</span>{_line(paren + rest)}{_mark(call)}</p>',
        *(f'<p class="notice">{_line(notice)}</p>' for notice in call.notices),
    ]
    if call.code:
        parts.append(_pre(call.code, "code", " call-code"))
    if call.result and not _is_short(call.result):
        parts.append(_pre(call.result, "result"))
    return "".join((*parts, *map(_file, call.files), "</li>\n"))


def _mark(call: ShownCall) -> str:
    """What stands behind a call on its line: a short result, or what there is to say of it."""
    said = "✗ failed" if call.failed else ""
    if call.result and _is_short(call.result):
        said = f"{said}: {_text(call.result)}" if said else _text(call.result)
    elif not said and call.result is None and not call.files:
        said = "no result"
    elif not said and not call.result and not call.files:
        said = '✓<span class="sr"> done, no output</span>'
    return (
        f' <span class="call-arrow">→</span> <span class="call-out">{said}</span>' if said else ""
    )


def _is_short(result: str) -> bool:
    return len(result) <= _SHORT and "\n" not in result


def _pre(text: str, label: str, more: str = "") -> str:
    """Text that may scroll, and can then be reached by the keyboard."""
    head = f'<pre class="call-result{more}" role="group" aria-label="{label}" tabindex="0">'
    return f"{head}{_text(text)}</pre>"


def _file(file: ShownFile) -> str:
    path = f'<div class="artifact-path">{_line(file.about)}</div>'
    picture = ""
    if file.mime in IMAGES and (image := _image(file.image)):
        picture = f'<img alt="{_line(file.path)}" src="data:{file.mime};base64,{image}">'
    text = _pre(file.text, "content") if file.text else ""
    return f'<div class="artifact">{path}{picture}{text}</div>'


def _image(text: str) -> str:
    """Base64 that is nothing else, or nothing."""
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode()
    except (binascii.Error, ValueError):
        return ""


def _text(text: str) -> str:
    return html.escape(visible(show_result(text, LONGEST)[0]))


def _line(text: str) -> str:
    return html.escape(visible_line(text))
