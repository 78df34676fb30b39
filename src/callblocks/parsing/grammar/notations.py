"""Grammars in the notations of constrained decoders: GBNF, Lark, and structural tags.

Each function takes named rules (`expressions`) and returns the text that a decoder reads.
"""

from __future__ import annotations

import json
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from callblocks.core.errors import CallerError
from callblocks.parsing.grammar.expressions import (
    Alt,
    Chars,
    Expr,
    Lit,
    Machine,
    Ref,
    Repeat,
    Seq,
    seq,
    within,
)

__all__ = (
    "Notation",
    "gbnf_text",
    "lark_text",
    "shown",
    "structural_tag_json",
)

# --- The notation of llama.cpp: `root ::= "<" name ">"` ---
#
# llama.cpp keeps a set of stacks, one per possible parse, and expands rules on the left without
# bound. So it refuses left-recursive rules, and the states of an automaton are right-recursive:
#
#     text-0 ::= "" | [^<] text-0 | "<" text-1


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


def gbnf_text(rules: Mapping[str, Expr]) -> str:
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


# --- The notation of llguidance, after Lark: `start: "<" name ">"` ---
#
# llguidance cuts text into terminals by the longest match and never backtracks, so each terminal
# is a single character here. Its parser is an Earley parser: right recursion costs the square of
# the text and left recursion does not. So the states of an automaton are left-recursive, and each
# rule lists the steps that lead to its state:
#
#     text_0: "" | text_0 /[^<]/
#     text_1: text_0 "<"


def lark_text(rules: Mapping[str, Expr]) -> str:
    """Write the rules, `start` first, below the line by which llguidance knows the format."""
    lines = _Lark(rules).lines
    return "%llguidance {}\n" + "".join(f"{name}: {text}\n" for name, text in lines.items())


class _Lark(Notation):
    def named(self, name: str) -> str:
        return "start" if name == "root" else name.replace("-", "_")

    def literal(self, text: str) -> str:
        return " ".join(map(_character, text))

    def bracketed(self, inner: str) -> str:
        return f"/[{inner}]/"

    def escaped(self, char: str) -> str:
        return _escaped_in_lark(char)

    def machine(self, name: str, machine: Machine) -> str:
        ways: dict[int, list[str]] = {0: ['""']}
        for state, steps in enumerate(machine.steps):
            for taken, target in steps:
                way = f"{name}_{state} {self.characters(taken)}"
                ways.setdefault(target, []).append(way)
        for state, found in sorted(ways.items()):
            self.lines[f"{name}_{state}"] = " | ".join(found)
        self.lines[name] = " | ".join(f"{name}_{state}" for state in sorted(machine.ends))
        return name


def _character(char: str) -> str:
    if char in '"\\':
        return f'"\\{char}"'
    return f'"{char}"' if shown(char) else f"/{_escaped_in_lark(char)}/"


def _escaped_in_lark(char: str) -> str:
    # Punctuation of ASCII may be an operator, in a class or before one.
    plain = char.isalnum() if char.isascii() else shown(char)
    return char if plain else f"\\x{{{ord(char):X}}}"


# --- The notation of xgrammar, which vLLM and SGLang take too: a structural tag, in JSON ---
#
#     {"type": "structural_tag", "format":
#         {"type": "triggered_tags", "triggers": ["<call>"], "tags":
#             [{"type": "tag", "begin": "<call>", "content": …, "end": "</call>"}], …}}
#
# Text is free until a trigger; then a tag must follow. Prose and blocks have that form: the
# markers that prose must not hold become triggers, and the blocks become tags. A tag has the
# literals that a block begins and ends with, and between them its rules as GBNF, which xgrammar
# reads. `at_least_one` and `stop_after_first` are not used: with them xgrammar allows no prose
# before the first call, and none behind the only one. If calls are demanded, the prose is explicit
# instead:
#
#     any        triggered tags
#     required   prose, a tag, triggered tags
#     one        prose, a tag, prose
#
# xgrammar wants each tag to begin with exactly one of the triggers. A grammar whose text is not
# prose and blocks, or whose blocks begin otherwise, becomes a single format with all rules.


def structural_tag_json(
    rules: Mapping[str, Expr], blocks: tuple[Sequence[str], Expr] | None, calls: str
) -> str:
    """Write the rules; `blocks` are the markers that prose must not hold, and a block's rule."""
    form = _text(rules, *blocks, calls) if blocks else None
    form = form or _grammar(rules["root"], rules)
    return json.dumps({"type": "structural_tag", "format": form}, ensure_ascii=False)


def _text(
    rules: Mapping[str, Expr], markers: Sequence[str], block: Expr, calls: str
) -> dict[str, Any] | None:
    """Return the format of prose and blocks, or None if triggers cannot express it."""
    # Of markers that begin alike only the shortest is a trigger or excluded: the longer ones begin
    # with it. A marker with which no tag begins is excluded from the prose instead.
    tags = [_tag(way, rules) for way in _ways(block, rules)]
    shortest = [one for one in markers if not any(one.startswith(o) for o in markers if o != one)]
    triggers = [one for one in shortest if any(tag["begin"].startswith(one) for tag in tags)]
    others = [one for one in shortest if one not in triggers]
    begun = all(tag["begin"].startswith(tuple(triggers)) for tag in tags)
    # xgrammar also searches excluded markers inside of triggers: a trigger that contains one would
    # never match.
    if not begun or any(other in trigger for trigger in triggers for other in others):
        return None
    free: dict[str, Any] = {
        "type": "triggered_tags",
        "triggers": triggers,
        "tags": tags,
        "at_least_one": False,
        "stop_after_first": False,
        **({"excludes": others} if others else {}),
    }
    if calls == "any":
        return free
    prose = {"type": "any_text", "excludes": [*triggers, *others]}
    rest = prose if calls == "one" else free
    return {"type": "sequence", "elements": [prose, {"type": "or", "elements": tags}, rest]}


def _ways(expr: Expr, rules: Mapping[str, Expr]) -> list[tuple[Expr, ...]]:
    """Split a block into rows, one per alternative at its beginning, down to a literal."""
    match expr:
        case Ref(name):
            return _ways(rules[name], rules)
        case Alt(choices):
            return [way for choice in choices for way in _ways(choice, rules)]
        case Seq((Ref() | Alt() as first, *rest)):
            return [(*way, *rest) for way in _ways(first, rules)]
        case Seq(parts):
            return [parts]
        case _:
            return [(expr,)]


def _tag(way: Sequence[Expr], rules: Mapping[str, Expr]) -> dict[str, Any]:
    begin, inner = _literals(way)
    end, content = _literals(inner[::-1])
    return {
        "type": "tag",
        "begin": "".join(begin),
        "content": _grammar(seq(*content[::-1]), rules),
        "end": "".join(end[::-1]),
    }


def _literals(parts: Sequence[Expr]) -> tuple[list[str], Sequence[Expr]]:
    """Return the literals that a row begins with, and the rest of it."""
    texts: list[str] = []
    for part in parts:
        if not isinstance(part, Lit):
            break
        texts.append(part.text)
    return texts, parts[len(texts) :]


def _grammar(root: Expr, rules: Mapping[str, Expr]) -> dict[str, Any]:
    """Return a format with only the rules that the root needs."""
    needed: dict[str, Expr] = {"root": root}
    waiting = [root]
    while waiting:
        for part in within(waiting.pop()):
            if isinstance(part, Ref) and part.name not in needed:
                needed[part.name] = rules[part.name]
                waiting.append(rules[part.name])
    return {"type": "grammar", "grammar": gbnf_text(needed)}
