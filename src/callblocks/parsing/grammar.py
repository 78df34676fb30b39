"""A grammar: named rules, printed for the decoder that a model runs under.

    grammar = Grammar()
    word = grammar.rule("word", many(chars("a-z"), least=1))
    grammar.rule("root", seq(word, lit("!")))
    grammar.to("gbnf")        root ::= word "!"      for llama.cpp
    grammar.to("lark")        start: word "!"        for llguidance

`root` is where a text begins. Any other name is only a label: it is put into the letters
that both notations allow, and numbered where it is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from callblocks.model.errors import CallerError
from callblocks.parsing.expressions import Expr, Ref

__all__ = ("Grammar", "Kind")

Kind: TypeAlias = Literal["gbnf", "lark"]
"""The notations: that of llama.cpp, and that of llguidance."""


class Grammar:
    """Collects rules, and prints them."""

    def __init__(self) -> None:
        self.words = {"true": "true", "false": "false", "null": "null"}
        """How JSON's three words are spelled."""
        self._rules: dict[str, Expr | None] = {}
        self._shared: dict[str, Ref] = {}

    def rule(self, name: str, expr: Expr) -> Ref:
        """Add a rule; what it returns stands for it in others."""
        ref = self.reserve(name)
        self.define(ref, expr)
        return ref

    def reserve(self, name: str) -> Ref:
        """Name a rule that is defined later, because it will need itself."""
        if name == "root" and name in self._rules:
            raise CallerError("the grammar has a root already; give this rule another name")
        ref = Ref(_free(name, self._rules))
        self._rules[ref.name] = None
        return ref

    def define(self, ref: Ref, expr: Expr) -> None:
        """Say what a reserved rule is."""
        self._rules[ref.name] = expr

    def once(self, name: str, build: Callable[[], Expr]) -> Ref:
        """The rule that all who ask under this name share; it is built the first time.

        `build` may ask for it again: that is how such a rule refers to itself.
        """
        if name not in self._shared:
            self._shared[name] = self.reserve(name)
            self.define(self._shared[name], build())
        return self._shared[name]

    def to(self, kind: Kind) -> str:
        """Print the grammar; one rule a line."""
        # Printing is rare and reading is not: the printers load when they are needed.
        from callblocks.parsing import gbnf, lark
        from callblocks.parsing.left_recursion import check

        printers: dict[str, Callable[[dict[str, Expr]], str]]
        printers = {"gbnf": gbnf.printed, "lark": lark.printed}
        if kind not in printers:
            raise CallerError(f"no grammar {kind!r}; choose from: {', '.join(get_args(Kind))}")
        rules = self._whole()
        check(rules)
        return printers[kind](rules)

    def _whole(self) -> dict[str, Expr]:
        """All rules, the root first."""
        if "root" not in self._rules:
            raise CallerError("a grammar needs a rule named root")
        whole = {name: expr for name, expr in self._rules.items() if expr is not None}
        if missing := self._rules.keys() - whole.keys():
            raise CallerError(f"rules reserved but not defined: {', '.join(sorted(missing))}")
        return {"root": whole["root"], **whole}


def _free(name: str, taken: dict[str, Expr | None]) -> str:
    """A name of letters, digits and hyphens that is not taken; `start` is Lark's root."""
    label = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    label = label if label[:1].isalpha() else f"r-{label}".rstrip("-")
    free, number = label, 1
    while free in taken or free == "start" or (free == "root" and name != "root"):
        number += 1
        free = f"{label}-{number}"
    return free
