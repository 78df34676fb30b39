"""A batch of calls on a page: one fold, a line for each call, and what came of it.

    🔧 2 tool calls, 1 failed (show details)
      read_file(path=a.txt) → one line
      read_file(path=long.txt)
        three lines, then a fold: ... (212 more lines)

The rules for what stands on the line and what below are those of a chat; here nothing is cut.
"""

from __future__ import annotations

import html

from callblocks.model.shown import format_size
from callblocks.model.verdicts import Verdict, verdict_of
from callblocks.views.timeline.calls import ShownCall
from callblocks.views.timeline.chat import Batch
from callblocks.views.timeline.page_text import line, lines, text

__all__ = ("batch_html",)

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
    """What stands behind a call on its line: a short result, or what there is to say of it."""
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
    """Three lines of a result, or as much of one long line, and a fold with the rest."""
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
