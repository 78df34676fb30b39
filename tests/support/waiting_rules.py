r"""Which text may wait for more, by each dialect's rules.

Text waits if it stands in no event yet. Then it begins where a block could begin, and what came
since has not decided it:

    tool-fence      `\n   ```tool na`      to the end of the line; to its end if it has no name
    scissors-cat    `\n  [{"type": `       as long as it can be the JSON before a delimiter; among
                                           others, a line that may begin with one
    chat-blocks     `<tool>ls(a`           to the next `<`; the old Markdown form to a blank line
    emoji-bracket   `🛠️[create-fi`         to `]` or the end of the line; a result to its end marker

Inside a call less than its closing waits. Among others, an opener behind a backtick waits until the
code span is closed or the line ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial

from callblocks import dialects
from callblocks.dialects.chat_blocks import LEGACY_CALLS, LEGACY_RESULTS, find_legacy_call
from callblocks.dialects.emoji_bracket import OPEN
from callblocks.dialects.scissors_cat import CUTS
from callblocks.dialects.tool_fence import read_info
from callblocks.parsing.dialect import with_fallbacks
from callblocks.parsing.engine.fences import closes, read_fence
from callblocks.parsing.engine.markers import Markers
from callblocks.parsing.engine.openers import closers_of
from callblocks.parsing.loop import Setting
from callblocks.parsing.values.strict_json import JsonScan, ScanState

__all__ = ("may_wait",)

FENCE_LINE = re.compile(r"\r|(?:\r?\n)? {0,3}(?:`{0,2}|~{0,2}|(?:```|~~~)[^\n]*)")
JSON_START = re.compile(r"(?:\r?\n)?(?:[ \t]*| {0,3}`{3,102}\w{0,20}[ \t]*\r?\n\s*)(?=[\[{])")
BEFORE_JSON = re.compile(r"\r|(?:\r?\n)?(?:[ \t]*| {0,3}`{1,102}\w{0,20}[ \t]*\r?(?:\n\s*)?)")
CLOSING_FENCE = re.compile(r"```+\s*|`{0,2}")
REFERENCE = re.compile(r"&(?:amp;)*(?!amp;)(.*)", re.DOTALL)
HIDDEN = re.compile(
    r"(?:a|am|amp|l|lt|lt;/?[a-z]*|#[0-9]{0,6}|#[0-9]{4,6};\ufe0f?[^\S\n]*\*{0,2}[^\S\n]*[a-z ]*)",
    re.IGNORECASE,
)
TAG = re.compile(r'<tool>|<validation>|<tool id="[^"<\n]*(?:">|"?\Z)')
BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
SEPARATORS = ("\n", "\r", "\r\n", "\r\n\r")


def may_wait(dialect: str, text: str, said: int, *, in_call: bool) -> bool:
    """Whether what stands in no event yet, from `said` on, has a reason to wait."""
    rules = INSIDE if in_call else OUTSIDE
    names = dialects if dialect == "auto" else [dialect]
    chosen = (rules.get(name, _short if in_call else partial(_opened, name)) for name in names)
    before, tail = text[:said], text[said:]
    quoted = dialect == "auto" and not in_call and _may_be_quoted(before, tail)
    return quoted or not tail or any(rule(before, tail) for rule in chosen)


def _may_be_quoted(before: str, tail: str) -> bool:
    """Whether an opener stands in what may be a code span: one that begins inside a line."""
    in_span = "`" in before.rpartition("\n")[2][1:] and not {"`", "\n"} & set(tail)
    return in_span and any(_opened(name, before, tail) for name in dialects)


def _opened(dialect: str, before: str, tail: str) -> bool:
    """Where nothing more is known of a dialect: one of its openers stands here, or may come to."""
    openers = _openers(dialect)
    fresh = openers.fresh if _in_line_start(before, tail) else None
    return bool(openers.growing.match(tail) or (fresh and fresh.match(tail)))


@cache
def _openers(dialect: str) -> Markers:
    """What opens a call, alone and among others, a thought's markers, and what ends a turn.

    A sibling's markers open a call too.
    """
    known = dialects[dialect]
    thinking = (marker for pair in known.reasoning for marker in pair)
    openers = (
        opener
        for owner in with_fallbacks((known,), is_named=True)
        for alone in (True, False)
        for opener in owner.openers(Setting(alone=alone))
    )
    closers = closers_of(known)
    strays = closers.shapes if closers else ()
    return Markers(*openers, *thinking, *known.turn_ends, *strays)


def _short(before: str, tail: str) -> bool:
    return len(tail) < 64


def _begins(tail: str, markers: Sequence[str]) -> bool:
    """Whether a marker stands at the start, or may still come to stand there."""
    return any(tail.startswith(marker) or marker.startswith(tail) for marker in markers)


def _may_become(tail: str, markers: Sequence[str]) -> bool:
    """Whether all of it is the start of a marker, but not a marker yet."""
    return any(marker.startswith(tail) and marker != tail for marker in markers)


def _in_line_start(before: str, tail: str) -> bool:
    return re.match(r"\r?\n|\r\Z", tail) is not None or not before or before.endswith("\n")


def _fence(before: str, tail: str) -> bool:
    return _in_line_start(before, tail) and (
        FENCE_LINE.fullmatch(tail) is not None or _nameless_fence(tail)
    )


def _nameless_fence(tail: str) -> bool:
    opening, _, body = re.sub(r"\A\r?\n", "", tail).partition("\n")
    fence = read_fence(opening)
    info = read_info(fence.info) if fence else None
    if fence is None or info is None or info.name is not None:
        return False
    *lines, _ = body.split("\n")
    return not any(closes(row, fence.run) and re.match(" {0,3}[`~]", row) for row in lines)


def _fence_body(before: str, tail: str) -> bool:
    return _in_line_start(before, tail) and FENCE_LINE.fullmatch(tail) is not None


def _json(before: str, tail: str) -> bool:
    begins_line = _in_line_start(before, tail)
    cut = tail.removeprefix("\n").lstrip(" \t") if begins_line else tail
    if _may_become(cut, CUTS) or (tail in SEPARATORS and before.endswith(CUTS)):
        return True
    if not begins_line:
        return False
    start = JSON_START.match(tail)
    if start is None or _was_cut(before):
        return BEFORE_JSON.fullmatch(tail) is not None
    scan = JsonScan()
    rest = tail[scan.feed(tail, start.end()) :]
    if scan.state in (ScanState.OPEN, ScanState.CLOSED) or _may_become(rest, CUTS):
        return True
    fenced = "`" in start[0] and scan.state is ScanState.STOPPED
    if fenced and (fence := CLOSING_FENCE.match(rest)):
        rest = rest[fence.end() :]
        if not rest or _may_become(rest, CUTS):
            return True
    return scan.looked_like_calls and not before.strip()


def _was_cut(before: str) -> bool:
    """Whether a delimiter stands there, surely in no JSON and no fence: no later one counts."""
    first = min((before.find(cut) for cut in CUTS if cut in before), default=-1)
    return first >= 0 and not re.search(r"[\[{`~]", before[:first])


def _tag(before: str, tail: str) -> bool:
    if tail.startswith("&"):
        reference = REFERENCE.fullmatch(tail)
        return reference is not None and (not reference[1] or bool(HIDDEN.fullmatch(reference[1])))
    if not tail.startswith("<"):
        return _legacy(before, tail)
    if _may_become(tail, ("<tool>", '<tool id="', "<validation>")):
        return True
    opening = TAG.match(tail)
    if opening is None or opening.end() == len(tail):
        return opening is not None
    inside, bracket, closing = tail[opening.end() :].partition("<")
    line, newline, _ = inside.partition("\n")
    is_call = "(" in line or len(line.split()) == 1 or opening[0] == "<validation>"
    open_ = not bracket or _may_become(closing, ("/tool>", "/validation>"))
    return open_ and (is_call or not (newline or bracket))


def _legacy(before: str, tail: str) -> bool:
    """An old call, to what tells its end; then what may be its result, or the next call."""
    rest = tail.lstrip(" \t\r\n")
    in_run = any(mark in before for mark in LEGACY_CALLS)
    if len(rest) < len(tail) and not in_run:
        return False
    markers = (*LEGACY_CALLS, *LEGACY_RESULTS) if in_run else LEGACY_CALLS
    if not rest or _may_become(rest, markers):
        return True
    if rest.startswith(LEGACY_RESULTS):
        return in_run and _legacy_result(rest.partition("`")[2])
    if not rest.startswith(LEGACY_CALLS):
        return False
    line, newline, _ = rest.partition("`")[2].partition("\n")
    call = find_legacy_call(line, False)
    if call is None or line.startswith("`"):
        return not newline
    size = len(rest.partition("`")[0]) + 1 + call.end
    return _legacy(before + rest[:size], rest[size:])


def _legacy_result(head: str) -> bool:
    name, mark, result = head.partition("` result:**")
    if not mark:
        name, backtick, end = name.partition("`")
        return "\n" not in name and "` result:**".startswith(backtick + end)
    line_end = re.match(r"\r?\n", result)
    return not BLANK_LINE.search(result[line_end.end() :] if line_end else result)


def _head(before: str, tail: str) -> bool:
    head, bracket, body = tail.partition("]")
    if not _begins(tail, OPEN) or "\n" in head:
        return False
    is_result = re.search(r"\[/result [0-9]+(?: json| error)?\Z", head)
    return not bracket or (is_result is not None and not _ended(body))


def _body(before: str, tail: str) -> bool:
    ends = tuple(f"{marker}/end]" for marker in OPEN)
    return _may_become(tail, ends) or (tail == "\r" and before.endswith("]"))


def _ended(body: str) -> bool:
    return any(f"{marker}/end]" in body for marker in OPEN)


def _never(before: str, tail: str) -> bool:
    return False


Rule = Callable[[str, str], bool]

OUTSIDE: dict[str, Rule] = {
    "tool-fence": _fence,
    "scissors-cat": _json,
    "chat-blocks": _tag,
    "emoji-bracket": _head,
    "emoji-bracket+": _head,
}
INSIDE: dict[str, Rule] = {
    "tool-fence": _fence_body,
    "scissors-cat": _never,
    "chat-blocks": _never,
    "emoji-bracket": _body,
    "emoji-bracket+": _body,
}
