"""The search syntax of Gmail, as a tree.

    from:alice subject:(budget OR plan)     both parts; OR binds closer than a blank
    {from:alice from:bob} -in:sent          one of those in braces; `-` is not
    "quarterly report" has:attachment       a phrase; words and values in any case
    after:2026/01/31 older_than:3m          dates; days, months, years ago
    larger:5M rfc822msgid:<a@b>             sizes in bytes, K or M

A word with a colon that is no operator is refused, and so is a value that an operator does not
take: a misspelt query must not look like one that found nothing.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief

__all__ = (
    "AGES",
    "DATES",
    "IS",
    "KINDS",
    "OPERATORS",
    "SIZES",
    "STARS",
    "TEXTS",
    "All",
    "AnyOf",
    "MailTerm",
    "Not",
    "Query",
    "all_of",
    "any_of",
    "bad_query",
    "fault_of_value",
    "read",
    "read_age",
    "read_date",
    "read_size",
    "write",
)

# --- The operators of Gmail's search, and the values that each of them takes ---
#
#     from: to: cc: bcc: subject: filename: list: deliveredto: rfc822msgid:    text
#     label: in: category: is: has:                                            names
#     before: older: after: newer:                 2026/01/31, 2026-01-31, or seconds since 1970
#     older_than: newer_than:                      3d, 2m, 1y
#     larger: smaller: size:                       1000, 10K, 5M
#
# A day begins at midnight here.

TEXTS = (
    *("from", "to", "cc", "bcc", "subject", "filename"),
    *("list", "deliveredto", "rfc822msgid", "label", "in"),
)
DATES = ("before", "older", "after", "newer")
AGES = ("older_than", "newer_than")
SIZES = ("larger", "smaller", "size")

# The values of `is:`.
IS = ("unread", "read", "starred", "unstarred", "important", "snoozed", "muted")

STARS = (
    *("yellow-star", "orange-star", "red-star", "purple-star", "blue-star", "green-star"),
    *("red-bang", "yellow-bang", "orange-guillemet", "green-check", "blue-info"),
    "purple-question",
)

# The values of `has:` for links, with the address that such a link contains.
KINDS = {
    "drive": "drive.google.com",
    "document": "docs.google.com/document",
    "spreadsheet": "docs.google.com/spreadsheets",
    "presentation": "docs.google.com/presentation",
    "youtube": "youtube.com",
}

_HAS = ("attachment", "userlabels", "nouserlabels", *KINDS, *STARS)
_CATEGORIES = (
    *("primary", "social", "promotions", "updates", "forums"),
    *("reservations", "purchases"),
)
OPERATORS = (*TEXTS, "is", "has", "category", *DATES, *AGES, *SIZES)

_DATE = re.compile(r"([0-9]{4})[/-]([0-9]{1,2})[/-]([0-9]{1,2})")
_AMERICAN = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")
_SECONDS = re.compile(r"[0-9]{9,11}")
_AGE = re.compile(r"([0-9]{1,5})([dmy])", re.IGNORECASE)
_SIZE = re.compile(r"([0-9]{1,12})([km]?)b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1024, "m": 1024 * 1024}


def fault_of_value(operator: str, value: str) -> str:
    """Return the fault of an operator's value, or ""."""
    if operator in _NAMES:
        known = _NAMES[operator]
        return "" if value.lower() in known else f"no such value; there are: {', '.join(known)}"
    if operator in _FORMS:
        reader, words = _FORMS[operator]
        return words if reader(value) is None else ""
    return ""


def read_date(value: str) -> float | None:
    """Return the timestamp of a date's local midnight; `None` if it is no date."""
    if _SECONDS.fullmatch(value):
        return float(value)
    found, american = _DATE.fullmatch(value), _AMERICAN.fullmatch(value)
    if found:
        year, month, day = map(int, found.groups())
    elif american:
        month, day, year = map(int, american.groups())
    else:
        return None
    try:
        return datetime(year, month, day).timestamp()
    except (ValueError, OverflowError):
        return None


def read_age(value: str, now: float) -> float | None:
    """Return the timestamp of an age before `now`; `None` if it is no age."""
    found = _AGE.fullmatch(value)
    if not found:
        return None
    count, unit = int(found[1]), found[2].lower()
    try:
        start = datetime.fromtimestamp(now)
        if unit == "d":
            return (start - timedelta(days=count)).timestamp()
        return _months_before(start, count * (12 if unit == "y" else 1)).timestamp()
    except (ValueError, OverflowError):
        return 0.0  # before all mail


def read_size(value: str) -> int | None:
    """Return the number of bytes; `None` if it is no size."""
    found = _SIZE.fullmatch(value)
    return int(found[1]) * _UNITS[found[2].lower()] if found else None


def _months_before(start: datetime, count: int) -> datetime:
    year, month = divmod(start.year * 12 + start.month - 1 - count, 12)
    day = min(start.day, monthrange(year, month + 1)[1])
    return start.replace(year=year, month=month + 1, day=day)


def _age(value: str) -> object:
    return _AGE.fullmatch(value)


_NAMES = {"is": IS, "has": _HAS, "category": _CATEGORIES}
_FORMS: dict[str, tuple[Callable[[str], object], str]] = {
    **dict.fromkeys(DATES, (read_date, "write a date such as 2026/01/31, or seconds since 1970")),
    **dict.fromkeys(AGES, (_age, "write an age such as 3d, 2m or 1y")),
    **dict.fromkeys(SIZES, (read_size, "write a size in bytes, or such as 10K or 5M")),
}


# --- The search syntax of Gmail, as a tree ---

# Bounds on the text, the nesting and the words. The parser and the SQL that is compiled from the
# tree are recursive, so depth must be bounded before either runs.
_LONGEST = 2_000
_DEEPEST = 20
_MOST_WORDS = 100
# Two lexers: after an operator only a value may follow, in which `-` and `:` are ordinary
# characters, as in `rfc822msgid:<a-b:c@d>` or `after:2026-01-31`.
_VALUE = re.compile(r'(?P<blank>\s+)|"(?P<quoted>[^"]*)"|(?P<sign>[(){}"])|(?P<word>[^\s(){}"]+)')
_TOKEN = re.compile(
    rf"(?P<minus>-)(?=[^\s)}}])|(?P<operator>[A-Za-z][A-Za-z0-9_]*):(?!//)|{_VALUE.pattern}"
)
# ASCII punctuation only: an emoji or a currency sign is something to search for.
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]*")
_QUOTES = str.maketrans("“”„", '"""')
# Words that need no quotes when they are written. It is narrower than what the lexer accepts, so
# writing then reading gives the same tree.
_PLAIN = re.compile(r"[^\W_][\w@.%/<>$*#&=!?,;']*")
_JOINS = ("AND", "OR")


class MailTerm(msgspec.Struct, frozen=True):
    """A word or phrase, with the operator before it or ""."""

    value: str
    operator: str = ""


class Not(msgspec.Struct, frozen=True):
    """The complement of a part."""

    part: Query


class All(msgspec.Struct, frozen=True):
    """The conjunction of the parts; without parts, everything."""

    parts: tuple[Query, ...] = ()


class AnyOf(msgspec.Struct, frozen=True):
    """The disjunction of the parts."""

    parts: tuple[Query, ...]


Query: TypeAlias = "MailTerm | Not | All | AnyOf"


def all_of(parts: Iterable[Query]) -> Query:
    """Join parts with AND: a single one stands for itself, nested joins are flattened."""
    flat: list[Query] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, All) else (part,))
    return flat[0] if len(flat) == 1 else All(tuple(flat))


def any_of(parts: Iterable[Query]) -> Query:
    """Join parts with OR: a single one stands for itself, nested choices are flattened."""
    flat: list[Query] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, AnyOf) else (part,))
    return flat[0] if len(flat) == 1 else AnyOf(tuple(flat))


def read(text: str) -> Query:
    """Parse a query; `invalid_input` if it is malformed."""
    if len(text) > _LONGEST:
        raise bad_query(f"the query has {len(text)} characters; at most {_LONGEST} are read")
    return _MailQueryReader(text.translate(_QUOTES)).whole()


def write(query: Query) -> str:
    """Write a query so that it parses to the same tree."""
    if isinstance(query, All):
        return " ".join(write(part) for part in query.parts)
    return _unit(query)


def bad_query(message: str) -> ToolError:
    """Return the failure for a malformed query."""
    return ToolError("invalid_input", message, query=message)


# Gmail's precedence is the reverse of most languages: OR binds closer than the implied AND. So an
# `AnyOf` is written in braces, where no precedence is needed.
def _unit(query: Query) -> str:
    match query:
        case MailTerm(value, operator):
            said = value if _is_plain(value) else f'"{value}"'
            return f"{operator}:{said}" if operator else said
        case Not(part):
            return f"-{_unit(part)}"
        case AnyOf(parts):
            return f"{{{' '.join(map(_unit, parts))}}}"
        case All():
            return f"({write(query)})"


def _is_plain(value: str) -> bool:
    return _PLAIN.fullmatch(value) is not None and value not in _JOINS


class _Token(msgspec.Struct, frozen=True):
    """A token; `kind` is quoted, sign, minus, operator or word, `at` its position."""

    kind: str
    text: str
    at: int


class _MailQueryReader:
    """A recursive descent parser; `field` is the operator before a group."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        words = sum(token.kind in ("word", "quoted") for token in self._tokens)
        if words > _MOST_WORDS:
            raise bad_query(f"the query has {words} words; at most {_MOST_WORDS} are searched")

    def whole(self) -> Query:
        parts = self._parts("", 0)
        if self._at < len(self._tokens):
            raise _stray(self._tokens[self._at])
        return all_of(parts)

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next_is(self, text: str) -> bool:
        token = self._peek()
        return token is not None and token.kind in ("word", "sign") and token.text == text

    def _parts(self, field: str, depth: int) -> list[Query]:
        """Parse the parts up to the end or to a closing sign."""
        parts: list[Query] = []
        # Each iteration consumes at least one token: `_choice` raises rather than return without
        # one.
        while (token := self._peek()) is not None and not _closes(token):
            if self._next_is("AND"):
                self._at += 1
                continue
            parts.append(self._choice(field, depth))
        return parts

    def _choice(self, field: str, depth: int) -> Query:
        choices = [self._one(field, depth)]
        while self._next_is("OR"):
            self._at += 1
            choices.append(self._one(field, depth))
        return any_of(choices)

    def _one(self, field: str, depth: int) -> Query:
        if depth > _DEEPEST:
            raise bad_query(f"the query has groups within groups, more than {_DEEPEST} deep")
        token = self._peek()
        if token is None or _closes(token) or (token.kind == "word" and token.text in _JOINS):
            raise bad_query("something is missing beside OR, or after -")
        self._at += 1
        match token.kind:
            case "minus":
                # `-` applies to the next unit only, `-(a b)` to the group. It counts as a level: a
                # row of a thousand minus signs must not exhaust the stack.
                return Not(self._one(field, depth + 1))
            case "sign":
                return self._group(token, field, depth + 1)
            case "operator":
                return self._operator(token, depth)
            case _:
                return _term(token, field)

    def _group(self, opening: _Token, field: str, depth: int) -> Query:
        if opening.text == '"':
            raise bad_query(f"the quote at character {opening.at + 1} is not closed")
        closing = ")" if opening.text == "(" else "}"
        parts = self._parts(field, depth)
        if not self._next_is(closing):
            why = f"the {opening.text} at character {opening.at + 1} is not closed by {closing}"
            raise bad_query(why)
        self._at += 1
        if not parts:
            raise bad_query(f"the group at character {opening.at + 1} is empty")
        return any_of(parts) if closing == "}" else all_of(parts)

    def _operator(self, token: _Token, depth: int) -> Query:
        operator = token.text.lower()
        # An unknown operator is refused instead of being searched as text. Gmail itself finds
        # nothing then, and a model would conclude that there is no such mail.
        if operator not in OPERATORS:
            raise bad_query(
                f"{brief(token.text + ':')} is no search operator; there are: "
                f'{", ".join(OPERATORS)}; put text that has a colon in "quotes"'
            )
        value = self._peek()
        if value is None or value.kind not in ("word", "quoted", "sign") or _closes(value):
            raise bad_query(f"{operator}: has no value after it")
        self._at += 1
        if value.kind == "sign":
            return self._group(value, operator, depth + 1)
        return _term(value, operator)


def _closes(token: _Token) -> bool:
    return token.kind == "sign" and token.text in ")}"


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        # A value may contain colons and dashes of its own.
        after_operator = bool(tokens) and tokens[-1].kind == "operator"
        found = (_VALUE if after_operator else _TOKEN).match(text, at)
        assert found is not None, "every character is of some kind"
        kind = str(found.lastgroup)
        if kind != "blank" and (after_operator or not _says_nothing(kind, found[kind])):
            tokens.append(_Token(kind, found[kind], at))
        at = found.end()
    return tokens


def _says_nothing(kind: str, text: str) -> bool:
    """Tell if a token is punctuation between words: `a - b`, `a & b`."""
    return kind in ("word", "quoted") and _PUNCTUATION.fullmatch(text.strip()) is not None


def _stray(token: _Token) -> ToolError:
    return bad_query(f"the {token.text} at character {token.at + 1} closes nothing")


def _term(token: _Token, operator: str) -> MailTerm:
    value = token.text.strip() if token.kind == "quoted" else token.text.lstrip("+")
    if not value:
        raise bad_query(f"{operator or token.text}: has no value after it")
    # Values are checked while parsing, so that both backends refuse the same queries.
    fault = fault_of_value(operator, value) if operator else ""
    if fault:
        raise bad_query(f"{operator}:{brief(value)[1:-1]}: {fault}")
    return MailTerm(value, operator)
