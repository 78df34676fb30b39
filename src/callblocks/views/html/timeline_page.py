"""A timeline as one page of HTML: no script, nothing loaded from anywhere, every text escaped.

The page has the style and the symbols of the chat. Calls are folded in batches that show how many
there are and how many failed. A Content-Security-Policy in the page allows only its one style
element and embedded images, so that even a mistake in the escaping could not run or fetch anything.
"""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import html
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import groupby
from typing import NamedTuple

from callblocks.core.blocks import Entry
from callblocks.core.call_text import format_size
from callblocks.core.errors import TimelineError
from callblocks.core.outcomes import Verdict, verdict_of
from callblocks.timeline.codec.outcome_blocks import read_digest
from callblocks.views.chat.timeline_chat import (
    Batch,
    Lost,
    Message,
    ShownCall,
    ShownFile,
    ShownItem,
    ThoughtEntry,
    TurnEnded,
)
from callblocks.views.html.page_markdown import line, lines, markdown, text, web_folder

__all__ = (
    "IMAGES",
    "CarriedFile",
    "batch_html",
    "carried_files",
    "file_html",
    "given_html",
    "style",
    "thumb_html",
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
.carried ul { margin: 0; padding-left: 1.25rem; overflow-wrap: anywhere; }
.carried h2 { margin-bottom: var(--s-2); font-size: var(--t-ui); }
.carried a { color: var(--accent); }
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


def timeline_html(
    name: str, items: Iterable[ShownItem], blocks: int, files: Iterable[CarriedFile] = ()
) -> Iterator[str]:
    """The page, piece by piece; `blocks` is how many the timeline has, `files` what it carries."""
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
    yield from _carried_html(files)
    yield _END


# --- The files that a page carries: each is saved by its link, or the page says why it is not ---

_LARGEST, _ALL = 5_000_000, 20_000_000


class CarriedFile(NamedTuple):
    """A file of a timeline; `content` is None where it is left out, and `why` says so."""

    path: str
    content: bytes | None
    why: str = ""


def carried_files(entries: Iterable[Entry], read: Callable[[str], bytes]) -> Iterator[CarriedFile]:
    """Yield the files that the blocks name; `read` gives the content of a digest.

    One above 5 MB is left out, and what would make the page larger than 20 MB.
    """
    known: set[str] = set()
    room = _ALL
    for entry in entries:
        digest = read_digest(entry.block)
        if digest is None or digest["artifact_path"] in known:
            continue
        path, size = digest["artifact_path"], digest.get("size_bytes")
        known.add(path)
        if isinstance(size, int) and size > min(room, _LARGEST):
            limit = _LARGEST if size > _LARGEST else _ALL
            of = "a file here" if size > _LARGEST else "all files here"
            words = f"it has {format_size(size)}, and {of} may have {format_size(limit)}"
            yield CarriedFile(path, None, words)
            continue
        try:
            content = read(str(digest.get("sha256")))
        except TimelineError as error:
            yield CarriedFile(path, None, error.message)
            continue
        room -= len(content)
        yield CarriedFile(path, content)


def _carried_html(files: Iterable[CarriedFile]) -> Iterator[str]:
    rows = [_carried_row(one) for one in files]
    if rows:
        yield f'<section class="carried"><h2>Files</h2>\n<ul>\n{"".join(rows)}</ul></section>\n'


def _carried_row(file: CarriedFile) -> str:
    if file.content is None:
        return f"<li>{line(file.path)}: not in this page, {line(file.why)}</li>\n"
    name = line(file.path.rpartition("/")[2] or file.path)
    # A type that no browser shows: the link saves, whatever the content is.
    data = f"data:application/octet-stream;base64,{base64.b64encode(file.content).decode()}"
    size = format_size(len(file.content))
    return f'<li><a download="{name}" href="{data}">Save {name}</a> · {size}</li>\n'


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


# --- Files on a page: a card with name, size and path, and the content where HTML can show it ---
#
# Raster images, Markdown, CSV tables and other text are embedded in the page. A PDF and all other
# files are only named.


# --- The icon of a file by its kind, drawn as a sheet of paper, as in the chat ---

_BY_TYPE = (
    (re.compile(r"application/pdf\b"), "pdf"),
    (re.compile(r"image/"), "image"),
    (re.compile(r"text/(?:csv|tab-separated-values)\b|.*(?:spreadsheet|ms-excel)"), "table"),
    (
        re.compile(
            r".*(?:json|xml|yaml|toml|javascript|typescript|x-(?:python|sh|c|rust|go|ruby|java))"
            r"|text/(?:html|css)"
        ),
        "code",
    ),
    (re.compile(r"text/|.*(?:wordprocessing|msword)"), "text"),
)
_CODE = re.compile(
    r".*\.(?:py|js|mjs|ts|tsx|jsx|rs|go|c|h|cpp|java|rb|sh|sql|html|css|toml|ya?ml|json|xml|ini"
    r"|diff|patch)\Z",
    re.DOTALL | re.IGNORECASE,
)
_THUMB_ROWS = {"pdf": 7, "text": 8, "code": 7, "table": 12}
_WORDS = {"pdf": "<b>PDF</b>", "code": "<b>‹›</b>"}


def thumb_html(file: ShownFile) -> str:
    """Return the icon of a file's kind."""
    kind = _kind(file)
    rows = "<i></i>" * _THUMB_ROWS.get(kind, 0)
    head = f'<div class="artifact-thumb" data-kind="{kind}" aria-hidden="true">'
    return f"{head}{rows}{_WORDS.get(kind, '')}</div>"


def _kind(file: ShownFile) -> str:
    found = next((kind for rule, kind in _BY_TYPE if rule.match(file.mime.lower())), "file")
    is_code = file.mime != "text/markdown" and _CODE.match(file.path) is not None
    return "code" if is_code and found in ("file", "text") else found


# --- Files on a page: a card with name, size and path, and the content where HTML can show it ---

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The types that are shown: none of them can hold a script or an address."""

_ROWS, _CELLS = 200, 50


def file_html(file: ShownFile) -> str:
    """Return a file that a call made: a card, and below it the content if it can be shown."""
    name = _name(file)
    return (
        f'<section class="artifact" aria-label="Artifact {line(name)}">'
        f'{thumb_html(file)}<div class="artifact-text">'
        f'<div class="artifact-name">{line(name)}</div>'
        f'<div class="artifact-meta">{_about(file)}</div>'
        f'<div class="artifact-path">{line(file.path)}</div></div></section>\n{_content(file)}'
    )


def given_html(file: ShownFile) -> str:
    """Return a file that the person attached: its name, and below it the content."""
    return (
        f'<div class="file">{thumb_html(file)}<span class="artifact-text">'
        f'<span class="artifact-name">{line(_name(file))}</span>'
        f'<span class="artifact-meta">{_about(file)}</span></span></div>\n{_content(file)}'
    )


def _name(file: ShownFile) -> str:
    return file.path.rpartition("/")[2] or file.path


def _about(file: ShownFile) -> str:
    """The type and the size."""
    return line(file.mime) + ("" if file.size is None else f" · {format_size(file.size)}")


def _content(file: ShownFile) -> str:
    name = line(_name(file))
    if file.mime in IMAGES and (image := _image(file.image)):
        source = f"data:{file.mime};base64,{image}"
        return f'<img class="artifact-image" alt="{name}" src="{source}">\n'
    if not file.text:
        return ""
    match file.mime:
        case "text/markdown":
            shown = f'<div class="prose">{markdown(file.text)}</div>'
        case "text/csv":
            shown = _table(file.text)
        case _:
            shown = _plain(file.text)
    return (
        f'<details class="reasoning preview"><summary>Content of {name}</summary>'
        f'<div tabindex="0" role="group" aria-label="{name}">{shown}</div></details>\n'
    )


def _image(said: str) -> str:
    """Return the text as canonical base64; an empty text if it is invalid."""
    try:
        return base64.b64encode(base64.b64decode(said, validate=True)).decode()
    except (binascii.Error, ValueError):
        return ""


def _plain(said: str) -> str:
    # A line feed that begins a `pre` is not shown: one more is.
    return f"<pre>\n{text(said)}</pre>"


def _table(said: str) -> str:
    """Return the first rows of CSV as a table; text that is no CSV stays text."""
    try:
        rows = [row for row in csv.reader(lines(said).splitlines()) if row]
    except csv.Error:
        rows = []
    if not rows:
        return _plain(said)
    more = max(0, len(rows) - 1 - _ROWS)
    rest = f"<p>... ({more} more rows)</p>" if more else ""
    body = "".join(_row(row, "td") for row in rows[1 : _ROWS + 1])
    return (
        '<div class="prose"><div class="table">'
        f"<table><thead>{_row(rows[0], 'th')}</thead><tbody>{body}</tbody></table></div>"
        f"{rest}</div>"
    )


def _row(cells: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells[:_CELLS])}</tr>"


# --- A batch of calls on a page: one fold, and a line for each call with its result ---
#
#     🔧 2 tool calls, 1 failed (show details)
#       read_file(path=a.txt) → one line
#       read_file(path=long.txt)
#         three lines, then a fold: ... (212 more lines)
#
# A result goes on the line of its call or below it by the rules of a chat; here nothing is cut.

_COLUMNS, _SHORT = 80, 20
_LINES, _CHARACTERS = 3, 500
_TOGGLE = (
    '<span class="batch-toggle"><span class="when-closed">(show details)</span>'
    '<span class="when-open">(hide details)</span></span>'
)
_EMPTY = '✓<span class="sr"> done, no output</span>'


def batch_html(batch: Batch) -> str:
    """Return a batch, folded; the approval of a person stands on the line of its call."""
    calls = batch.calls
    return (
        f'<details class="batch" data-state="done"><summary>'
        f'<span class="batch-icon" aria-hidden="true">🔧</span>'
        f'<span class="batch-label">{_label(calls)}</span>{_TOGGLE}</summary>\n'
        f'<ol class="calls">\n{"".join(map(_call, calls))}</ol></details>\n'
    )


def _label(calls: list[ShownCall]) -> str:
    verdicts = [_verdict(call) for call in calls if call.failed]
    unrun = sum(verdict is not None for verdict in verdicts)
    failed = len(verdicts) - unrun
    is_one = len(calls) == 1
    label = f"<code>{line(calls[0].name)}</code>" if is_one else f"{len(calls)} tool calls"
    if failed:
        words = "failed" if is_one else f"{failed} failed"
        label += f', <span class="batch-failed">{words}</span>'
    if unrun:
        words = "not run" if is_one else f"{unrun} not run"
        label += f', <span class="batch-quiet">{words}</span>'
    return label


def _verdict(call: ShownCall) -> Verdict | None:
    return verdict_of(call.result or "") if call.failed else None


def _call(call: ShownCall) -> str:
    verdict = _verdict(call)
    state = "not-run" if verdict else "failed" if call.failed else "done"
    name, paren, rest = call.line.partition("(")
    result = lines(verdict.why if verdict else call.result or "").strip("\n")
    is_inline = _fits(call, result)
    parts = [
        f'<li class="call" data-state="{state}"><p class="call-line">',
        f'<span class="call-name">{line(name)}</span>',
        f'<span class="call-args">{line(paren + rest)}</span>',
        f"{_mark(call, result if is_inline else '')}</p>",
        _yes(call) if call.approved and not verdict else "",
        *(f'<p class="notice">{line(notice)}</p>' for notice in call.notices),
    ]
    if call.code:
        parts.append(_pre(text(call.code), " call-code", "code"))
    if not is_inline:
        parts.append(_below(result))
    return "".join((*parts, "</li>\n"))


def _yes(call: ShownCall) -> str:
    words = f"allowed by your {call.granted}-minute grant" if call.granted else "approved by you"
    return f'<p class="verdict">{words}</p>'


def _fits(call: ShownCall, result: str) -> bool:
    if "\n" in result:
        return False
    room = _COLUMNS - len(f"  {call.line} → {_fault(call)}")
    return len(result) <= max(_SHORT, room)


def _fault(call: ShownCall) -> str:
    if not call.failed:
        return ""
    verdict = _verdict(call)
    return verdict.lead if verdict else "✗ failed"


def _mark(call: ShownCall, result: str) -> str:
    """Return the text behind a call on its line: a short result, the failure, or `no result`."""
    said = html.escape(result)
    if call.failed:
        lead = f"<b>{_fault(call)}</b>" if _verdict(call) else _fault(call)
        said = f"{lead}: {said}" if said else lead
    elif call.result is None and not call.files:
        said = "no result"
    elif not call.result and not call.files:
        said = _EMPTY
    if not said:
        return ""
    return f' <span class="call-arrow">→</span> <span class="call-out">{said}</span>'


def _below(result: str) -> str:
    """Return three lines of a result, or the start of one long line, and a fold with the rest."""
    first = "\n".join(result.split("\n", _LINES)[:_LINES])[:_CHARACTERS]
    rest = result[len(first) :]
    if not rest:
        return _pre(html.escape(first))
    more = rest.removeprefix("\n").count("\n") + 1
    if not rest.startswith("\n"):
        words = f"{format_size(len(result.encode('utf-8', 'replace')))} in all"
    else:
        words = "1 more line" if more == 1 else f"{more} more lines"
    return (
        f"{_pre(html.escape(first), cut=True)}"
        f'<details class="call-rest"><summary class="call-more">... ({words})</summary>'
        f"{_pre(html.escape(rest.removeprefix(chr(10))))}</details>"
    )


def _pre(escaped: str, kind: str = "", label: str = "", *, cut: bool = False) -> str:
    said = f' role="group" aria-label="{label}"' if label else ""
    said += " data-cut" if cut else ""
    # A line feed that begins a `pre` is not shown: one more is.
    return f'<pre class="call-result{kind}"{said}>\n{escaped}</pre>'
