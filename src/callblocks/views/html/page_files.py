"""Files on a page: a card with name, size and path, and the content where HTML can show it.

Raster images, Markdown, CSV tables and other text are embedded in the page. A PDF and all other
files are only named.
"""

from __future__ import annotations

import base64
import binascii
import csv
import html
import re

from callblocks.core.call_text import format_size
from callblocks.core.outcomes import Verdict, verdict_of
from callblocks.views.chat.timeline_chat import Batch, ShownCall, ShownFile
from callblocks.views.html.page_markdown import line, lines, markdown, text

__all__ = (
    "IMAGES",
    "batch_html",
    "file_html",
    "given_html",
    "thumb_html",
)

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
