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
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.gmail_operators import OPERATORS, fault_of_value

__all__ = ("All", "AnyOf", "Not", "Query", "Term", "all_of", "any_of", "bad_query", "read", "write")

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


class Term(msgspec.Struct, frozen=True):
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


Query: TypeAlias = "Term | Not | All | AnyOf"


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
    return _Reader(text.translate(_QUOTES)).whole()


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
        case Term(value, operator):
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


class _Reader:
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


def _term(token: _Token, operator: str) -> Term:
    value = token.text.strip() if token.kind == "quoted" else token.text.lstrip("+")
    if not value:
        raise bad_query(f"{operator or token.text}: has no value after it")
    # Values are checked while parsing, so that both backends refuse the same queries.
    fault = fault_of_value(operator, value) if operator else ""
    if fault:
        raise bad_query(f"{operator}:{brief(value)[1:-1]}: {fault}")
    return Term(value, operator)
