"""The notation of llguidance, after Lark: `start: "<" name ">"`.

llguidance cuts text into terminals by the longest match and never backtracks, so each terminal is a
single character here. Its parser is an Earley parser: right recursion costs the square of the text
and left recursion does not. So the states of an automaton are left-recursive, and each rule lists
the steps that lead to its state:

    text_0: "" | text_0 /[^<]/
    text_1: text_0 "<"
"""

from __future__ import annotations

from collections.abc import Mapping

from callblocks.parsing.grammar.expressions import Expr, Machine
from callblocks.parsing.grammar.gbnf import Notation, shown

__all__ = ("printed",)


def printed(rules: Mapping[str, Expr]) -> str:
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
        return _escaped(char)

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
    return f'"{char}"' if shown(char) else f"/{_escaped(char)}/"


def _escaped(char: str) -> str:
    # Punctuation of ASCII may be an operator, in a class or before one.
    plain = char.isalnum() if char.isascii() else shown(char)
    return char if plain else f"\\x{{{ord(char):X}}}"
