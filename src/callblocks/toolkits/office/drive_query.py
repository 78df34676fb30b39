r"""Drive's search syntax as a small tree, and how it is written.

    name contains 'report' and mimeType = 'application/pdf'
    modifiedTime > '2024-05-01T12:00:00' and not (trashed = true or starred = true)
    '1AbC…' in parents and name = 'Valentine\'s Day'

`and` and `or` bind alike, from left to right; parentheses say it otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief

__all__ = (
    "FIELDS",
    "KEYS",
    "And",
    "Field",
    "Not",
    "Or",
    "Query",
    "Term",
    "is_words",
    "read_order",
    "read_query",
    "read_time",
    "read_value",
    "terms",
    "write_query",
)


class Term(msgspec.Struct, frozen=True, tag="term"):
    """One comparison; for a collection, `operator` is `in` and the value is the element."""

    field: str
    operator: str
    value: str | bool


class Not(msgspec.Struct, frozen=True, tag="not"):
    """The complement of an item."""

    item: Query


class And(msgspec.Struct, frozen=True, tag="and"):
    """The conjunction of two or more items."""

    items: tuple[Query, ...]


class Or(msgspec.Struct, frozen=True, tag="or"):
    """The disjunction of two or more items."""

    items: tuple[Query, ...]


Query: TypeAlias = Term | Not | And | Or


def write_query(query: Query) -> str:
    """Write a query in Google's spelling; parsing it gives the same tree."""
    match query:
        case Term(field, "in", value):
            return f"{_quoted(value)} in {field}"
        case Term(field, operator, value):
            return f"{field} {operator} {_quoted(value)}"
        case Not(item):
            return f"not {_grouped(item)}"
        case And(items):
            return " and ".join(map(_grouped, items))
        case Or(items):
            return " or ".join(map(_grouped, items))


def terms(query: Query) -> Iterator[Term]:
    """Yield all comparisons of a query."""
    match query:
        case Term():
            yield query
        case Not(item):
            yield from terms(item)
        case And(items) | Or(items):
            for item in items:
                yield from terms(item)


def _quoted(value: str | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _grouped(item: Query) -> str:
    return write_query(item) if isinstance(item, Term) else f"({write_query(item)})"


# --- The order of files: `folder,modifiedTime desc,name`, as Drive's `orderBy` has it ---

# The sort keys.
KEYS = (
    "createdTime",
    "folder",
    "modifiedByMeTime",
    "modifiedTime",
    "name",
    "name_natural",
    "quotaBytesUsed",
    "recency",
    "sharedWithMeTime",
    "starred",
    "viewedByMeTime",
)


def read_order(text: str) -> tuple[tuple[str, bool], ...]:
    """Return the keys, each with True for descending; `invalid_input` for an unknown one."""
    return tuple(_key(part.split()) for part in text.split(",") if part.strip())


def _key(words: list[str]) -> tuple[str, bool]:
    match words:
        case [key] if key in KEYS:
            return key, False
        case [key, "desc"] if key in KEYS:
            return key, True
        case _:
            why = f"{brief(' '.join(words))} is no order; choose from {', '.join(KEYS)}"
            raise ToolError("invalid_input", f"{why}, each with or without ` desc`", orderBy=why)


# --- The fields of Drive's search, their operators and values ---
#
# name mimeType                                   contains = !=            text
# fullText                                        contains                 words, or "a phrase"
# modifiedTime createdTime viewedByMeTime         < <= = != >= >           a time, UTC by default
# trashed starred sharedWithMe                    = !=                     true, false
# parents owners writers readers                  'value' in               an id, an address


class Field(msgspec.Struct, frozen=True):
    """The operators of a field, and the kind of its values."""

    kind: Literal["text", "time", "truth", "members"]
    operators: tuple[str, ...]

    @property
    def stands_alone(self) -> bool:
        """True if the field by itself means `= true`."""
        return self.kind == "truth"


_TEXT = Field("text", ("contains", "=", "!="))
_TIME = Field("time", ("<", "<=", "=", "!=", ">=", ">"))
_TRUTH = Field("truth", ("=", "!="))
_MEMBERS = Field("members", ("in",))

# The fields by name.
FIELDS = {
    "name": _TEXT,
    "fullText": Field("text", ("contains",)),
    "mimeType": _TEXT,
    "modifiedTime": _TIME,
    "createdTime": _TIME,
    "viewedByMeTime": _TIME,
    "trashed": _TRUTH,
    "starred": _TRUTH,
    "sharedWithMe": _TRUTH,
    "parents": _MEMBERS,
    "owners": _MEMBERS,
    "writers": _MEMBERS,
    "readers": _MEMBERS,
}


def read_value(field: Field, text: str, *, quoted: bool) -> str | bool:
    """Parse the value of a field; `ValueError` with the reason."""
    match field.kind:
        case "truth":
            if text.lower() not in ("true", "false"):
                raise ValueError(f"the value is true or false, not {text!r}")
            return text.lower() == "true"
        case "time":
            return read_time(text)
        case "text" | "members":
            if not quoted:
                raise ValueError(f"put the value in quotes: '{text}'")
            return text


def read_time(text: str) -> str:
    """Return a time as Drive compares it: UTC, in milliseconds."""
    try:
        moment = datetime.fromisoformat(text)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{text!r} is no time; write 2024-05-01 or 2024-05-01T12:00:00+02:00"
        ) from error


# --- Parser of Drive's query syntax, with error positions ---
#
# Spellings that Google accepts but does not document (double quotes, capitals, a time without
# quotes, `parents in 'id'`, a lone `starred`) are parsed too, and written in the documented one.

# Bounds on the text and the depth: parsing, writing and matching of the tree are recursive.
_LONGEST = 8_000
_DEEPEST = 30
# The alternative `odd` matches any other character, so that the tokens cover the whole text and an
# error can name its position.
_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"""|(?P<sign>!=|<=|>=|[()=<>])|(?P<word>[^\s()'"=<>!]+)|(?P<odd>\S))""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SIGNS = ("=", "!=", "<", "<=", ">", ">=")


class _Token(msgspec.Struct, frozen=True):
    kind: str
    text: str
    at: int

    @property
    def lower(self) -> str:
        return self.text.lower() if self.kind != "quoted" else ""

    @property
    def said(self) -> str:
        return brief(self.text) if self.kind != "end" else "the end"


def read_query(text: str) -> Query:
    """Parse a query; `invalid_input` names the position of an error."""
    if len(text) > _LONGEST:
        raise _fault(f"the query has {len(text)} characters; at most {_LONGEST} are read")
    return _DriveQueryReader(list(_tokens(text))).whole()


def is_words(text: str) -> bool:
    """Tell if a text is words to search for rather than an attempt at the syntax."""
    # Words and syntax share one parameter. A text without any operator is a search for words; as
    # soon as one stands where an operator belongs, it is parsed, and errors are reported.
    tokens = [token for token in _tokens(text) if token.text not in ("(", ")")]
    return not any(
        token.text in _SIGNS or (token.lower in ("contains", "in") and _stands_between(tokens, at))
        for at, token in enumerate(tokens)
    )


def _stands_between(tokens: list[_Token], at: int) -> bool:
    """Tell if the word at a position is an operator: beside a field, or between a field and
    quotes.
    """
    before, after = tokens[at - 1] if at else tokens[-1], tokens[at + 1]
    if tokens[at].lower == "contains":
        return before.text in FIELDS or after.kind == "quoted"
    return before.text in FIELDS or (before.kind == "quoted" and after.kind == "word")


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        yield _Token(kind, match[kind], match.start(kind))
    yield _Token("end", "", len(text))


class _DriveQueryReader:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._height = 0

    def whole(self) -> Query:
        query = self._chain()
        if self._next.kind != "end":
            raise self._expected("`and`, `or` or the end")
        return query

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._next
        self._at += 1
        return token

    def _chain(self) -> Query:
        # `and` and `or` have the same precedence and associate to the left, as at Google. A run of
        # one operator becomes one flat node; each change of operator adds a level, which is why
        # `height` is tracked separately from the nesting of parentheses.
        query, height = self._item(), self._height
        joined = ""
        while self._next.lower in ("and", "or"):
            word = self._take().lower
            item = self._item()
            kind = And if word == "and" else Or
            if word == joined and isinstance(query, kind):
                query = kind((*query.items, item))
                height = max(height, self._height + 1)
            else:
                query = kind((query, item))
                height = self._grown(max(height, self._height))
            joined = word
        self._height = height
        return query

    def _grown(self, height: int) -> int:
        """Return one level more, within the depth that can be written and traversed recursively."""
        if height >= _DEEPEST:
            words = (
                f"it is nested deeper than {_DEEPEST}, or changes between `and` and `or` too often"
            )
            raise _fault(words, self._next.at)
        return height + 1

    def _item(self) -> Query:
        self._depth += 1
        # A `not` before a parenthesis is two levels of text and one of the tree.
        if self._depth > 2 * _DEEPEST + 2:
            raise _fault(f"it is nested deeper than {_DEEPEST}", self._next.at)
        try:
            return self._item_within()
        finally:
            self._depth -= 1

    def _item_within(self) -> Query:
        if self._next.lower == "not":
            self._take()
            item = self._item()
            self._height = self._grown(self._height)
            return Not(item)
        if self._next.text == "(":
            self._take()
            query = self._chain()
            self._close()
            return query
        self._height = 0
        return self._element() if self._next.kind == "quoted" else self._term()

    def _close(self) -> None:
        if self._next.text != ")":
            raise self._expected("`and`, `or` or a closing parenthesis")
        self._take()

    def _element(self) -> Query:
        value = self._take()
        if self._next.lower != "in":
            raise self._expected("`in` after a quoted value")
        self._take()
        return self._made(self._field(), "in", value)

    def _term(self) -> Query:
        field = self._field()
        operator = self._next
        # A lone `starred` or `trashed` means `= true`; Google accepts that without documenting it.
        if FIELDS[field].stands_alone and operator.lower in ("", "and", "or", ")"):
            return Term(field, "=", True)
        if operator.lower not in FIELDS[field].operators:
            return self._refuse(field)
        self._take()
        if self._next.kind not in ("quoted", "word"):
            raise self._expected("a value in quotes")
        return self._made(field, operator.lower, self._take())

    def _field(self) -> str:
        token = self._next
        if token.kind != "word" or token.text not in FIELDS:
            raise self._expected(f"a field ({', '.join(FIELDS)})")
        self._take()
        return token.text

    def _made(self, field: str, operator: str, value: _Token) -> Term:
        quoted = value.kind == "quoted"
        if operator not in FIELDS[field].operators:
            self._refuse(field)
        # A backslash escapes any character in a quoted value, not only quotes.
        text = _ESCAPE.sub(r"\1", value.text[1:-1]) if quoted else value.text
        try:
            return Term(field, operator, read_value(FIELDS[field], text, quoted=quoted))
        except ValueError as error:
            raise _fault(f"{field} {operator}: {error}", value.at) from error

    def _refuse(self, field: str) -> Term:
        allowed = ", ".join(f"`{one}`" for one in FIELDS[field].operators)
        raise self._expected(f"{allowed} with {field}")

    def _expected(self, what: str) -> ToolError:
        token = self._next
        hint = "; a quote is not closed" if token.text in ("'", '"') else ""
        return _fault(f"expected {what}, found {token.said}{hint}", token.at)


def _fault(words: str, at: int | None = None) -> ToolError:
    why = words if at is None else f"the query cannot be read at character {at + 1}: {words}"
    way_out = "write for example: name contains 'report' and trashed = false"
    return ToolError("invalid_input", f"{why}; {way_out}", query=why)
