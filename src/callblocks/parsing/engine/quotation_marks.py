"""Signs in a text that quote the text behind them: quotation marks, escaped newlines, code tags.

These functions look at the text before a position, up to the scanner's lookbehind. `quotations`
calls them for openers while a text arrives, `unread` for the names of tools when the text is over.

The hard part is telling an opening mark from a closing one, and from an apostrophe, without the
start of the line, which may lie before the lookbehind:

    `"`         the parity of the marks in the line decides
    `'“‘„`      opens unless a letter, a digit or closing punctuation stands before it:
                `he said '<tool_call>` quotes, `the model's <tool_call>` does not
    `«»‹›`      as above; guillemets point either way (French, German), and may have a blank inside
"""

from __future__ import annotations

import re

__all__ = ("ends_in_code_tag", "is_within_quotation", "opens_quotation")

_GUILLEMETS = "«»‹›"
_OPENING_MARKS = f"\"'“‘„{_GUILLEMETS}"
# A mark behind one of these closes a quotation, or is an apostrophe.
_BEFORE_CLOSING_MARK = ".!?…)]}%*_-\"'”’»"
# Escaped line breaks: the text is the contents of a string literal, `"\n<tool_call>"`.
_ESCAPED_BREAKS = ("\\n", "\\t", "\\r")
_CODE_TAG = re.compile(r"<(/?)(?:code|kbd|samp)\b[^<>\n]{0,80}>")
_OPENED_CODE = r"<(?:code|kbd|samp)\b[^<>\n]{0,80}>"
_ENDS_IN_CODE = re.compile(rf"{_OPENED_CODE}\Z")
# `<pre>` may span lines, so it is searched in the whole lookbehind and not only in the last line.
_PRE_TAG = re.compile(r"<(/?)pre\b[^<>\n]{0,80}>")
# Quoted markup: a sign right before `<`, `[` or a marker's emoji, in the last line; or markup of up
# to 80 characters that ends the line before. `(?!</)`: a closing tag behind a mark is no quotation.
_QUOTED_MARKUP = re.compile(
    rf"(?:[{_OPENING_MARKS}](?=\s?[<\[🛠✂])|{_OPENED_CODE}(?=[^\S\n]?[<\[🛠✂]))(?!</)"
    rf"(?:[^\n]*|\s?[^\s\"'“”‘’„{_GUILLEMETS}]{{1,80}}[ \t\r]*\n\s*[^\n]*)\Z"
)


def opens_quotation(before: str) -> bool:
    """Return whether a text ends in a sign that quotes the next character, or in quoted markup.

    A quotation continues on the next line if its markup ends the line: `"<tool_call>`, then JSON.
    """
    if before[-2:] in _ESCAPED_BREAKS or _ends_in_mark(before):
        return True
    if before[-1:] == ">" and _ENDS_IN_CODE.search(before):
        return True
    if _is_open(_PRE_TAG, before, 0):
        return True
    return before[-1:] in ("\n", "\r") and _quotes_markup(before)


def is_within_quotation(before: str) -> bool:
    """Return whether quoted markup begins in the last line of a text, or `<pre>` is open."""
    return _quotes_markup(before) or _is_open(_PRE_TAG, before, 0)


def _quotes_markup(before: str) -> bool:
    found = _QUOTED_MARKUP.search(before)
    while found:
        if found[0][0] == "<" or _ends_in_mark(before[: found.start() + 1]):
            return True
        found = _QUOTED_MARKUP.search(before, found.start() + 1)
    return False


def _ends_in_mark(before: str) -> bool:
    """Return whether the last character is a quotation mark that opens.

    Guillemets may have a blank inside, and may point either way.
    """
    if before[-1:].isspace() and before[-2:-1] in ("«", "‹"):
        before = before[:-1]
    mark, earlier = before[-1:], before[-2:-1]
    if not mark or mark not in _OPENING_MARKS:
        return False
    if mark == '"':
        # Straight marks have no direction: in a line, every second one closes.
        return before.count('"', before.rfind("\n") + 1) % 2 == 1
    return not earlier or not (earlier.isalnum() or earlier in _BEFORE_CLOSING_MARK)


def ends_in_code_tag(before: str) -> bool:
    """Return whether an HTML tag of code, such as `<code>`, is open in the last line."""
    return _is_open(_CODE_TAG, before, before.rfind("\n") + 1)


def _is_open(tags: re.Pattern[str], before: str, start: int) -> bool:
    """Return whether the last of these tags behind `start` is an opening one."""
    slashes = [tag[1] for tag in tags.finditer(before, start)]
    return slashes[-1:] == [""]
