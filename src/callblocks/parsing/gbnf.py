"""The notation of llama.cpp: `root ::= "<" name ">"`.

llama.cpp keeps a set of stacks, one per possible parse, and expands rules on the left without
bound. So it refuses left-recursive rules, and the states of an automaton are right-recursive:

    text-0 ::= "" | [^<] text-0 | "<" text-1
"""

from __future__ import annotations

from collections.abc import Mapping

from callblocks.parsing.expressions import Expr, Machine
from callblocks.parsing.notation import Notation, shown

__all__ = ("printed",)

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
