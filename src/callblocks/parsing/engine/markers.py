"""Markers, and patterns that find a marker in text that arrives in pieces.

A marker is a literal, or a `Shape`: a row of regex atoms that match one after the other. A set of
markers is compiled into two patterns:

- *growing*, for text that goes on. For the marker `abc` it is `a(?:b(?:c()|\\Z)|\\Z)`. It also
  matches where the text stops inside the marker, so one search tells three cases apart:

      no match              no marker, and none begins here: the text is free
      match, lastindex 1    a marker: its empty group took part
      match, no lastindex   the text stops inside what may become a marker: wait

- *final*, for text that is over: `abc()`. Nothing can grow any more.

Invariants
    - The longer of two markers that begin at the same offset is tried first, so that `<` waits
      while `<<` is still possible.
    - Rows that share their first atoms are merged into a prefix tree. There may be hundreds of
      rows, and `re` would try each of them at each position.
    - A newline in a marker also matches CRLF. Callers get the marker as it stands in the text.

Why regular expressions and not an automaton of our own: `re` skips free text in C; the same loop in
Python is many times slower, and free text is most of the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, product, takewhile
from typing import NamedTuple, TypeAlias

__all__ = (
    "TEXT_START",
    "Beginnings",
    "Markers",
    "Shape",
    "Spellings",
    "alternatives",
    "damaged",
    "ends_in_code_tag",
    "is_barred",
    "is_within_quotation",
    "line",
    "line_start",
    "opens_quotation",
    "respell",
    "respelt_atoms",
    "spellings",
    "with_lf",
    "without_ahead",
    "without_line_end",
    "without_line_ends",
)

# A pattern that matches nowhere, for an empty set: an empty alternation would match everywhere.
NEVER = "(?!)"
_NEWLINE = r"\n"
_NEWLINES = (_NEWLINE, re.escape("\n"))
_NAMED = {_NEWLINE: "\n", r"\r": "\r"}
# Inside of a marker a newline is two atoms, so that the text may stop between CR and LF.
_CRLF = {_NEWLINE: (r"\r?", _NEWLINE)}
INDENT = " {0,3}"
# The number of markers that a message names; `3 others` stands for the rest.
_NAMED_AT_MOST = 4
_LETTER = re.compile(r"\\?(\W|(?<!\\)\w)|\[(\w)\w\]", re.DOTALL)
# A class of two to four plain characters, once or more often.
_CLASS = re.compile(r"\[([^\w\\^\]\s-]{2,4})\](?:\{1,[0-9]\})?")
# An atom for the start of a marker that counts only in the first line of the text.
TEXT_START = "(?<!\n)"


class Shape(NamedTuple):
    """A marker of regex atoms. With `at_line_start`, the newline before it is part of it.

    The last atom must have a fixed length. A last atom such as ` *` could take more characters from
    the next piece, so the end of the marker would depend on how the text is cut.

    `ahead` are rows of atoms, a lookahead: one of them must follow the marker and is not part of
    it. Like the marker, it may be incomplete when the text stops.
    """

    atoms: tuple[str, ...]
    at_line_start: bool = False
    ahead: tuple[tuple[str, ...], ...] = ()


def line(literal: str, *atoms: str, indent: str = INDENT) -> Shape:
    """Return a marker that begins a line: up to three spaces, a literal, then atoms."""
    return Shape((indent, *map(re.escape, literal), *atoms), at_line_start=True)


def without_ahead(marker: str | Shape) -> str | Shape:
    """Return a marker without its lookahead."""
    return marker._replace(ahead=()) if isinstance(marker, Shape) else marker


class Markers:
    """An immutable set of markers; `what` describes them in words, for messages.

    Patterns are compiled at first use: with all dialects there are thousands of sets, and most
    texts need few of them.
    """

    def __init__(self, *markers: str | Shape, what: str = "") -> None:
        self._markers = markers
        self._what = what

    @cached_property
    def _given(self) -> list[Shape]:
        escape, markers = re.escape, self._markers
        return [m if isinstance(m, Shape) else Shape(tuple(map(escape, m))) for m in markers]

    @cached_property
    def shapes(self) -> list[Shape]:
        """The markers as atoms, the longest first."""
        return sorted(self._given, key=lambda shape: len(shape.atoms), reverse=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The markers as people write them, or their description in words."""
        if self._what:
            return (self._what,)
        written = map(_as_written, self._given)
        return tuple(dict.fromkeys(f"`{text}`" for text in written if text))

    def may_begin(self, text: str, fresh: bool) -> bool:
        """Return whether a marker may begin with this text, at the start of a line or not.

        The answer may be yes where an atom is no letter. The letters are compared here, because
        compiling the patterns of all dialects to ask them would take much longer than the whole
        parse of a short text.
        """
        rows = chain(self._letters, self._line_letters) if fresh else self._letters
        return any(row[: len(text)] == text[: len(row)] for row in rows)

    @cached_property
    def _letters(self) -> set[str]:
        """The letters with which the markers begin, up to the first atom that is none."""
        return set(chain.from_iterable(map(_letters_of, _with_newlines(self.shapes))))

    @cached_property
    def _line_letters(self) -> set[str]:
        """The same of the markers that begin a line, without the newline."""
        return set(chain.from_iterable(map(_letters_of, self._of_lines)))

    @cached_property
    def growing(self) -> re.Pattern[str]:
        return _compiled(_with_newlines(self.shapes), growing=True)

    @cached_property
    def here(self) -> re.Pattern[str]:
        """The growing pattern with an empty alternative, to be matched where a marker may stand.

        It always matches. Without a group a marker may still grow; with a group it is decided:
        there is a marker, or (empty match) there is none.
        """
        return re.compile(f"{self.growing.pattern}|()")

    @cached_property
    def final(self) -> re.Pattern[str]:
        return _compiled(_with_newlines(self.shapes), growing=False)

    @cached_property
    def fresh(self) -> re.Pattern[str] | None:
        """The growing pattern of the line markers, for text that begins at a line start.

        The newline that is part of a line marker was consumed before, or the input begins here.
        """
        return _compiled(shapes, growing=True) if (shapes := self._of_lines) else None

    @cached_property
    def fresh_final(self) -> re.Pattern[str] | None:
        return _compiled(shapes, growing=False) if (shapes := self._of_lines) else None

    @property
    def _of_lines(self) -> list[tuple[str, ...]]:
        """The atoms of the markers that begin a line, without the newline."""
        shapes = (shape for shape in self.shapes if shape.at_line_start)
        return list(_with_newlines(shape._replace(at_line_start=False) for shape in shapes))

    def search_at_end(self, text: str, at: int) -> re.Match[str] | None:
        """Return the first marker in a text that is over, from a position on."""
        return self.final.search(text, at)


class Beginnings(Markers):
    """A filter for a large set of markers: it finds beginnings, and whoever asks looks closer.

    The pattern of all openers has 40,000 characters and takes longer to compile than most texts to
    read. Three things make it small:

        cut        a row ends after a few atoms (`_beginning`), fewer where a line begins, because
                   that pattern is tried only at the start of a text
        LF only    unless `crlf`; a CR is found instead, and the caller goes on with the set
                   that knows CRLF
        short end  when the text is over, only the few characters that were held back remain:
                   markers that are longer are left out
    """

    def __init__(self, *markers: str | Shape, crlf: bool = False) -> None:
        super().__init__(*markers)
        self._crlf = crlf
        self._endings: dict[int, re.Pattern[str]] = {}

    @cached_property
    def growing(self) -> re.Pattern[str]:
        rows = (_beginning(row, _MOST) for row in self._rows(self.shapes))
        return _compiled(dict.fromkeys(rows), growing=True)

    @cached_property
    def final(self) -> re.Pattern[str]:
        return _compiled(self._rows(self.shapes), growing=False)

    @cached_property
    def fresh(self) -> re.Pattern[str] | None:
        rows = dict.fromkeys(_up_to_letter(row, 1) for row in self._of_lines)
        return _compiled(rows, growing=True) if rows else None

    def search_at_end(self, text: str, at: int) -> re.Match[str] | None:
        size = len(text) - at
        if size > _SHORT_END:
            return self.final.search(text, at)
        pattern = self._endings.get(size)
        if pattern is None:
            rows = (row for row in self._rows(self.shapes) if _least_size(row) <= size)
            pattern = self._endings[size] = _compiled(rows, growing=False)
        return pattern.search(text, at)

    def _rows(self, shapes: Iterable[Shape]) -> Iterable[tuple[str, ...]]:
        if self._crlf:
            return _with_newlines(shapes)
        rows = (row for row in _with_newlines(shapes) if row[0] != r"\r")
        return chain(rows, ((r"\r",),))


class _Ahead(str):
    """The lookahead of a marker as the last atom of its row.

    It is a string (the final pattern of the lookahead) because rows are tuples of strings that are
    compared and merged; its own rows are kept for the growing pattern.
    """

    __slots__ = ("rows",)

    rows: tuple[tuple[str, ...], ...]

    def __new__(cls, rows: tuple[tuple[str, ...], ...]) -> _Ahead:
        made = super().__new__(cls, f"(?={_choice(list(rows), growing=False)})")
        made.rows = rows
        return made

    def pattern(self, growing: bool) -> str:
        """Return the lookahead as a pattern.

        The empty group that marks a certain match is inside of it: while the lookahead can still
        grow, the marker is not certain either.
        """
        return f"(?={_choice(list(self.rows), growing)})"


def _compiled(rows: Iterable[tuple[str, ...]], *, growing: bool) -> re.Pattern[str]:
    return re.compile(_choice(list(rows), growing) or NEVER)


def _with_newlines(shapes: Iterable[Shape]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of atoms, with CRLF in place of each newline.

    A row that begins with a newline is yielded twice, with LF and with CRLF. `\\r?\\n` would be
    shorter, but `re` searches quickly only for a set of literal first characters.
    """
    for shape in shapes:
        atoms = (_NEWLINE, *shape.atoms) if shape.at_line_start else shape.atoms
        if shape.ahead:
            atoms = (*atoms, _Ahead(shape.ahead))
        first, *rest = (_NEWLINE if atom in _NEWLINES else atom for atom in atoms)
        others = [part for atom in rest for part in _CRLF.get(atom, (atom,))]
        if first == _NEWLINE:
            yield (r"\r", first, *others)
        yield (first, *others)


# The atoms of a marker that a filter looks for, and the longest end that has patterns of its own.
_MOST = 4
_SHORT_END = 8


def _beginning(row: tuple[str, ...], most: int) -> tuple[str, ...]:
    """Return the first atoms of a row, at least `most`, up to one that is a letter.

    A row may end only with an atom of a fixed length, and a letter is one. Two kinds of rows stay
    whole, because text is full of what would remain of them: rows that begin with a word, and
    brackets with a lookahead.
    """
    letters = (atom[-1] for atom in row[:most] if _is_letter(atom) and not atom.isspace())
    if isinstance(row[-1], _Ahead) or all(map(str.isalnum, letters)):
        return row
    return _up_to_letter(row, most)


def _up_to_letter(row: tuple[str, ...], least: int) -> tuple[str, ...]:
    """Return at least so many atoms of a row, up to one that is a letter."""
    ends = (at for at, atom in enumerate(row, 1) if at >= least and _is_letter(atom))
    return row[: next(ends, len(row))]


def _least_size(row: tuple[str, ...]) -> int:
    """Return the least number of characters that a row matches, a lookahead included."""
    return sum(map(_needs_text, row))


def _choice(rows: list[tuple[str, ...]], growing: bool) -> str:
    """Return a pattern for any of the rows; rows with the same first atom become one branch."""
    rests: dict[str, list[tuple[str, ...]]] = {}
    for first, *rest in rows:
        rests.setdefault(first, []).append(tuple(rest))
    return "|".join(_branch(first, rest, growing) for first, rest in rests.items())


def _branch(first: str, rests: list[tuple[str, ...]], growing: bool) -> str:
    if isinstance(first, _Ahead):
        return first.pattern(growing)
    run = [first]
    while _share_letter(run, rests):
        run.append(rests[0][0])
        rests = [rest[1:] for rest in rests]
    whole = "".join(run) + _after(rests, growing)
    # `(?:abc…|a(?:b\Z|\Z))` instead of `a(?:b(?:c…|\Z)|\Z)`: a literal run is compared at once,
    # and the beginnings are tried only where the text stops.
    return f"(?:{whole}|{_begun(run)})" if growing and len(run) > 1 else whole


def _share_letter(run: Sequence[str], rests: Sequence[tuple[str, ...]]) -> bool:
    """Return whether all rows go on with the same letter, so that the run can grow by it."""
    letters = {rest[0] if rest else "" for rest in rests}
    return len(letters) == 1 and all(map(_is_letter, (*run[-1:], *letters)))


def _after(rests: Sequence[tuple[str, ...]], growing: bool) -> str:
    """Return the pattern for the rests of rows; a row without a rest ends in the empty group."""
    longer = [rest for rest in rests if rest]
    if not longer:
        return "()"
    choices, ends = [_choice(longer, growing)], ["()"] if len(longer) < len(rests) else []
    if growing:
        # `\Z` must be tried before atoms that match the empty text, such as ` {0,3}`: they would
        # match at the end of the text and make a marker certain that is not. Where no rest can
        # match the empty text, `\Z` is tried last, which is faster.
        choices.insert(all(map(_needs_text, (rest[0] for rest in longer))), "\\Z")
    return f"(?:{'|'.join([*choices, *ends])})"


def _begun(letters: Sequence[str]) -> str:
    """Return a pattern for a proper prefix of the letters at the end of the text."""
    pattern = "\\Z"
    for letter in reversed(letters[1:-1]):
        pattern = f"(?:{letter}{pattern}|\\Z)"
    return letters[0] + pattern


# The same few hundred atoms are asked about again and again while patterns are built.
@lru_cache(maxsize=4096)
def _is_letter(atom: str) -> bool:
    return bool(atom) and re.escape(atom[-1:]) == atom


def _letters_of(row: Sequence[str]) -> tuple[str, ...]:
    """Return the letters with which a row begins; `""` if its first atom is none.

    A class of a few characters behind them, such as the bars of a token, gives one text for each.
    """
    letters = [*takewhile(bool, map(_letter_in, row))]
    begun, rest = "".join(letters), row[len(letters) :]
    some = _CLASS.fullmatch(rest[0]) if rest else None
    return tuple(begun + char for char in some[1]) if some else (begun,)


def _letter_in(atom: str) -> str:
    return _NAMED.get(atom) or (atom[-1] if _is_letter(atom) else "")


def alternatives(wanted: Iterable[Markers | str]) -> str:
    """Describe wanted markers in words: as they are written, or by their description."""
    sets = [(one,) if isinstance(one, str) else one.names for one in wanted]
    each = max(1, _NAMED_AT_MOST // max(1, len(sets)))
    names = list(dict.fromkeys(name for one in sets for name in one[:each]))
    more = len({name for one in sets for name in one}) - len(names)
    last = f"{more} other{'s' * (more > 1)}" if more else names.pop() if names else ""
    return f"{', '.join(names)} or {last}" if names else last


def _as_written(shape: Shape) -> str:
    """Return a marker as people write it; `…` stands for a part that varies."""
    shown = (_shown_atom(atom) for atom in shape.atoms)
    return re.sub("…+", "…", "".join(shown)).strip(" ")


def _shown_atom(atom: str) -> str:
    if atom in _NEWLINES:
        return "\n"
    letter = _LETTER.fullmatch(atom)
    if letter:
        return letter[1] or letter[2]
    is_empty = atom.startswith("(?") or re.fullmatch(atom, "") is not None
    return "" if is_empty else "…"


def _needs_text(atom: str) -> bool:
    """Return whether an atom does not match the empty text; lookaheads never do."""
    return isinstance(atom, _Ahead) or _is_no_match_for_nothing(atom)


@lru_cache(maxsize=1024)
def _is_no_match_for_nothing(atom: str) -> bool:
    return re.match(atom, "") is None


# --- Other spellings of markers ---
#
# Tokens such as `<|tool_call|>` and `<｜tool▁call▁begin｜>` are spelled out by models that lack
# them, with the bars of the other family, or with a plain underscore for U+2581.
#
# Models drop the variation selector U+FE0F of an emoji at times. Old transcripts were UTF-8 that
# was once read as a one-byte encoding, so that `🛠️` became `ðŸ› ï¸`: bytes with no character in
# that encoding were lost, or kept as the control character of the same number, and so was Mac
# Roman's apple, which Unicode has only for private use; a no-break space often became a plain one.
# All of these are recognised but the shortest: `ð [` stands in any Icelandic text. Writers write
# the first spelling.

SELECTOR = "\ufe0f"
# The Apple logo of Mac Roman, which is a private-use character in Unicode.
APPLE = "\uf8ff"
# Shorter damaged spellings occur in ordinary text: `ð [` in Icelandic.
SHORTEST = 3
# The one-byte encodings with which UTF-8 was decoded by mistake in old transcripts.
ENCODINGS = ("mac_roman", "cp1252", "cp1254", "latin-1")
# A marker, or all its spellings; the first one is written.
Spellings: TypeAlias = str | tuple[str, ...]
BAR, WIDE_BAR, BLANK = "|", "\uff5c", "\u2581"
_ATOMS = {BAR: f"[{BAR}{WIDE_BAR}]", WIDE_BAR: f"[{BAR}{WIDE_BAR}]", BLANK: f"[{BLANK}_]"}


def is_barred(marker: str) -> bool:
    """Return whether a marker has bars, which models write in two ways (`|` and `｜`)."""
    return BAR in marker or WIDE_BAR in marker


def respell(markers: Spellings) -> Spellings:
    """Return a marker with the other bars, or a tuple of markers with all their spellings."""
    if isinstance(markers, str):
        return _with_other_bars(markers)
    others = [(one, one.replace(BLANK, "_")) for one in markers]
    spelt = (made for pair in others for one in pair for made in (one, _with_other_bars(one)))
    return tuple(dict.fromkeys((*markers, *spelt)))


def respelt_atoms(marker: str) -> tuple[str, ...]:
    """Return the atoms of a pattern that matches a marker in each of its spellings."""
    return tuple(_ATOMS.get(char) or re.escape(char) for char in marker)


def _with_other_bars(marker: str) -> str:
    if WIDE_BAR in marker:
        return marker.replace(WIDE_BAR, BAR)
    return marker.replace(BAR, WIDE_BAR)


def spellings(marker: str) -> tuple[str, ...]:
    """Return the spellings of a marker with and without each variation selector."""
    parts = marker.split(SELECTOR)
    choices = product((SELECTOR, ""), repeat=len(parts) - 1)
    return tuple(
        "".join(part + mark for part, mark in zip(parts, (*marks, ""), strict=True))
        for marks in choices
    )


def damaged(marker: str) -> tuple[str, ...]:
    """Return the spellings that a wrong decoding makes of a marker, the longest first."""
    read = {
        _misread(spelling, encoding, keep)
        for spelling in spellings(marker)
        for encoding in ENCODINGS
        for keep in (True, False)
    }
    read |= {text.replace("\xa0", " ") for text in read}
    told = (text for text in read if len(text) >= SHORTEST)
    return tuple(sorted(told, key=lambda text: (-len(text), text)))


def _misread(text: str, encoding: str, keep: bool) -> str:
    return "".join(_character(byte, encoding, keep) for byte in text.encode())


def _character(byte: int, encoding: str, keep: bool) -> str:
    character = bytes([byte]).decode(encoding, "ignore") or chr(byte)
    is_lost = character == APPLE or 0x7F <= ord(character) < 0xA0
    return "" if is_lost and not keep else character


# --- Line ends: LF and CRLF mean the same ---
#
# A marker with a newline matches both, and is returned as it stands in the text. Code that compares
# such a marker with a literal, or strips a line end, uses these functions. Line ends inside of
# prose and values stay as they were written.

_LINE_START = re.compile(r"\A\r?\n")


def with_lf(text: str) -> str:
    """Return a text with LF for each CRLF, to be compared with a literal."""
    return text.replace("\r\n", "\n")


def line_start(text: str) -> str:
    """Return the line end that a text begins with, or `""`."""
    found = _LINE_START.match(text)
    return found[0] if found else ""


def without_line_end(text: str) -> str:
    """Return a text without the line end at its end, if there is one."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def without_line_ends(text: str) -> str:
    """Return a text without one line end at its start and one at its end."""
    # One of the two prefixes at most: the text may begin with an empty line of its own.
    end = "\n" if text.startswith("\n") else "\r\n"
    return without_line_end(text.removeprefix(end))


# --- Signs in a text that quote the text behind them: quotation marks, escaped newlines, code
#     tags ---
#
# These functions look at the text before a position, up to the scanner's lookbehind. `quotations`
# calls them for openers while a text arrives, `unread` for the names of tools when the text is
# over.
#
# The hard part is telling an opening mark from a closing one, and from an apostrophe, without the
# start of the line, which may lie before the lookbehind:
#
#     `"`         the parity of the marks in the line decides
#     `'“‘„`      opens unless a letter, a digit or closing punctuation stands before it:
#                 `he said '<tool_call>` quotes, `the model's <tool_call>` does not
#     `«»‹›`      as above; guillemets point either way (French, German), and may have a blank
# inside

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
