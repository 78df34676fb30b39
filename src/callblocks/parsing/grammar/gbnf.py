"""The notation of llama.cpp: `root ::= "<" name ">"`.

llama.cpp keeps a set of stacks, one per possible parse, and expands rules on the left without
bound. So it refuses left-recursive rules, and the states of an automaton are right-recursive:

    text-0 ::= "" | [^<] text-0 | "<" text-1
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping

from callblocks.core.errors import CallerError
from callblocks.parsing.grammar.expressions import Alt, Chars, Expr, Lit, Machine, Ref, Repeat, Seq

__all__ = (
    "Notation",
    "printed",
    "shown",
)

# --- The common part of the two textual notations of grammars, GBNF and Lark ---
#
# Both write `a b` for a row, `a | b` for a choice, `a?`, `a*`, `a+` and `a{2,5}`. They differ in
# how they write characters, automata and the names of rules; a subclass writes those.
#
# Precedence is in the method names: `expression` may be a choice, `row` must not be one, `item`
# must be one token or a group. Each adds parentheses where the next lower one needs them.

_SIGNS = {(0, None): "*", (1, None): "+", (0, 1): "?"}


class Notation(ABC):
    """One way of writing rules."""

    def __init__(self, rules: Mapping[str, Expr]) -> None:
        self.lines: dict[str, str] = dict.fromkeys(map(self.named, rules), "")
        self._machines: dict[Machine, str] = {}
        for name, expr in rules.items():
            self._owner = self.named(name)
            self.lines[self._owner] = self.expression(expr)

    @abstractmethod
    def named(self, name: str) -> str:
        """Return the name of a rule in this notation."""

    @abstractmethod
    def literal(self, text: str) -> str:
        """Write a text, as one item or several."""

    @abstractmethod
    def bracketed(self, inner: str) -> str:
        """Write a class of characters, given the text between its brackets."""

    @abstractmethod
    def escaped(self, char: str) -> str:
        """Write a character as it stands in a class."""

    @abstractmethod
    def machine(self, name: str, machine: Machine) -> str:
        """Add the rules of an automaton under this name; return the one to refer to."""

    def expression(self, expr: Expr) -> str:
        """Write an expression as a whole rule or a whole group."""
        if isinstance(expr, Alt):
            return " | ".join(self.row(choice) for choice in expr.choices)
        return self.row(expr)

    def row(self, expr: Expr) -> str:
        """Write an expression as one alternative of a choice."""
        if isinstance(expr, Seq):
            return " ".join(self.item(part) for part in expr.parts) or '""'
        return self.item(expr)

    def item(self, expr: Expr) -> str:
        """Write an expression as one item of a row."""
        match expr:
            case Lit(text):
                return self.literal(text)
            case Chars():
                return self.characters(expr)
            case Seq() | Alt():
                return f"({self.expression(expr)})"
            case Repeat(body, least, most):
                return self._unit(body) + _sign(least, most)
            case Ref(name):
                return self.named(name)
            case _:
                return self._machine(expr)

    def characters(self, expr: Chars) -> str:
        """Write a class; one of a single character is that character."""
        low, high = expr.ranges[0]
        if len(expr.ranges) == 1 and low == high and not expr.negated:
            return self.literal(low)
        inner = "".join(self._range(low, high) for low, high in expr.ranges)
        return self.bracketed(f"^{inner}" if expr.negated else inner)

    def _range(self, low: str, high: str) -> str:
        return self.escaped(low) + (f"-{self.escaped(high)}" if high != low else "")

    def _unit(self, body: Expr) -> str:
        """Write an expression as the operand of a repetition."""
        many = isinstance(body, Repeat) or (isinstance(body, Lit) and len(body.text) > 1)
        return f"({self.item(body)})" if many else self.item(body)

    def _machine(self, machine: Machine) -> str:
        if machine not in self._machines:
            self._machines[machine] = self.machine(self._free(self._owner), machine)
        return self._machines[machine]

    def _free(self, owner: str) -> str:
        """Return a name for an automaton's states that is not a prefix of any rule's name."""
        number = 1
        while any(line.startswith(self.named(f"{owner}-m{number}")) for line in self.lines):
            number += 1
        return self.named(f"{owner}-m{number}")


def _sign(least: int, most: int | None) -> str:
    if least == most:
        return f"{{{least}}}"
    return _SIGNS.get((least, most), f"{{{least},{'' if most is None else most}}}")


def shown(char: str) -> bool:
    """Return whether a character is written as itself: no control, mark or blank but the space."""
    category = unicodedata.category(char)
    if category == "Cs":
        raise CallerError(f"a grammar cannot say half a character: {char!r}")
    return char == " " or category[0] not in "CMZ"


# --- The notation of llama.cpp: `root ::= "<" name ">"` ---

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Escapes in a literal, and in a class.
_IN_TEXT = {**_NAMED, '"': '\\"', "\\": "\\\\"}
# Not all readers of GBNF know `\-`, and some read `&&` and `~~` in a class as set operations: these
# characters are written as hexadecimal escapes.
_IN_CLASS = {**_NAMED, "\\": "\\\\", "[": "\\[", "]": "\\]"} | {
    char: f"\\x{ord(char):02X}" for char in "-^&~"
}


def printed(rules: Mapping[str, Expr]) -> str:
    """Write the rules, `root` first."""
    lines = _Gbnf(rules).lines
    return "".join(f"{name} ::= {text}\n" for name, text in lines.items())


class _Gbnf(Notation):
    def named(self, name: str) -> str:
        return name

    def literal(self, text: str) -> str:
        return '"' + "".join(_escaped(char, _IN_TEXT) for char in text) + '"'

    def bracketed(self, inner: str) -> str:
        return f"[{inner}]"

    def escaped(self, char: str) -> str:
        return _escaped(char, _IN_CLASS)

    def machine(self, name: str, machine: Machine) -> str:
        for state, steps in enumerate(machine.steps):
            ways = ['""'] if state in machine.ends else []
            for taken, target in steps:
                # A state without steps only ends the text: it needs no rule.
                rest = f" {name}-{target}" if machine.steps[target] else ""
                ways.append(self.characters(taken) + rest)
            if steps:
                self.lines[f"{name}-{state}"] = " | ".join(ways)
        return f"{name}-0"


def _escaped(char: str, known: Mapping[str, str]) -> str:
    if char in known or shown(char):
        return known.get(char, char)
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
