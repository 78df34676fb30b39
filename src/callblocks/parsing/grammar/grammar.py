"""A grammar: named rules, printed in the notation of a constrained decoder.

    grammar = Grammar()
    word = grammar.rule("word", many(chars("a-z"), least=1))
    grammar.rule("root", seq(word, lit("!")))
    grammar.to("gbnf")        root ::= word "!"      for llama.cpp
    grammar.to("lark")        start: word "!"        for llguidance

`root` is the start rule. Any other name is only a label: it is reduced to the characters that both
notations allow, and numbered if it is taken.

Invariants
    - Rules are expressions (`expressions`), independent of a notation. Printing checks that no rule
      loops without consuming text (`left_recursion`), which llama.cpp would refuse.
    - Whatever the grammar allows, the dialect's reader reads: prose holds no opener (`machines`),
      and a value holds no marker that would end it.
    - Equal schemas share a rule, so a recursive schema gives a finite grammar (`schema_rules`).

The grammar, and not the dialect, knows how many calls are demanded. A dialect marks where calls
repeat, and the grammar writes the repetition:

    grammar.row(call, lit(", "))             calls that share one block
    grammar.text(["<call>"], block)          `root`: prose without the marker, and blocks
    grammar.repeated(part)                   parts of a `root` of another form

             row            text, repeated
    any      one or more    none or more
    required one or more    one or more
    one      one            one

Without `prose` the text has nothing but calls, and a line break behind each: where a call is
demanded, a model could otherwise write prose until it is cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from callblocks.core.errors import CallerError
from callblocks.core.specs import ToolSpec
from callblocks.parsing.grammar.expressions import (
    EMPTY,
    Alt,
    Chars,
    Expr,
    Lit,
    Ref,
    Repeat,
    Seq,
    lit,
    many,
    opt,
    repeat,
    seq,
    within,
    without,
)

__all__ = (
    "Calls",
    "Grammar",
    "Kind",
    "check",
)

# The notations: that of llama.cpp, that of llguidance, and that of xgrammar and vLLM.
Kind: TypeAlias = Literal["gbnf", "lark", "structural_tag"]
# The number of calls that a text must have: any, at least one, exactly one.
Calls: TypeAlias = Literal["any", "required", "one"]


class Grammar:
    """A collection of rules, which can be printed in several notations.

    `calls` is the number of calls that a text must have. `known` are all tools that a reader of the
    text knows, also those that this grammar does not allow: prose must not call them either.
    `prose` says whether prose may stand around calls.
    """

    def __init__(
        self, calls: Calls = "any", known: Sequence[ToolSpec] = (), *, prose: bool = True
    ) -> None:
        if calls not in get_args(Calls):
            raise CallerError(f"no calls={calls!r}; choose from: {', '.join(get_args(Calls))}")
        self.known = tuple(known)
        # True once `row`, `repeated` or `text` made rules that depend on the number of calls. A
        # dialect that uses none of them cannot demand calls.
        self.counts_calls = False
        # The markers that prose must not hold, and the rule of a block, if `text` made the root.
        self.blocks: tuple[tuple[str, ...], Expr] | None = None
        self.calls: Calls = calls
        self.prose = prose
        # The spelling of JSON's three words; Python's dialects change it.
        self.words = {"true": "true", "false": "false", "null": "null"}
        self._rules: dict[str, Expr | None] = {}
        self._shared: dict[str, Ref] = {}

    def rule(self, name: str, expr: Expr) -> Ref:
        """Add a rule, and return a reference to it."""
        ref = self.reserve(name)
        self.define(ref, expr)
        return ref

    def reserve(self, name: str) -> Ref:
        """Return a reference to a rule that is defined later; recursive rules need it."""
        if name == "root" and name in self._rules:
            raise CallerError("the grammar has a root already; give this rule another name")
        ref = Ref(_free(name, self._rules))
        self._rules[ref.name] = None
        return ref

    def define(self, ref: Ref, expr: Expr) -> None:
        """Define a reserved rule."""
        self._rules[ref.name] = expr

    def once(self, name: str, build: Callable[[], Expr]) -> Ref:
        """Return the shared rule of this name; it is built at the first request.

        `build` may request it again: that is how such a rule refers to itself.
        """
        if name not in self._shared:
            self._shared[name] = self.reserve(name)
            self.define(self._shared[name], build())
        return self._shared[name]

    def row(self, call: Expr, between: Expr = EMPTY) -> Expr:
        """Return a rule for the calls of one block, separated by `between`."""
        self.counts_calls = True
        return call if self.calls == "one" else seq(call, many(seq(between, call)))

    def repeated(self, first: Expr, further: Expr | None = None) -> Expr:
        """Return a rule for parts of a text with one call each; zero parts if no call is demanded.

        `further` is the rule of a part behind another, if it differs from the first.
        """
        self.counts_calls = True
        if self.calls == "one":
            return first
        least = int(self.calls == "required")
        if further is None:
            return many(first, least)
        return repeat(seq(first, many(further)), least, 1)

    def text(self, markers: Sequence[str], block: Expr) -> None:
        """Add the rule `root`: blocks with prose around them that holds none of the markers."""
        if not self.prose:
            self.rule("root", self.repeated(seq(block, opt(lit("\n")))))
            return
        prose = self.rule("prose", without(markers))
        self.rule("root", seq(prose, self.repeated(seq(block, prose))))
        self.blocks = (tuple(markers), block)

    def to(self, kind: Kind) -> str:
        """Print the grammar; one rule a line."""
        # Printing is rarer than parsing: the printers are imported only here.
        from callblocks.parsing.grammar import notations

        printers: dict[str, Callable[[dict[str, Expr]], str]]
        printers = {
            "gbnf": notations.gbnf_text,
            "lark": notations.lark_text,
            "structural_tag": lambda rules: notations.structural_tag_json(
                rules, self.blocks, self.calls
            ),
        }
        if kind not in printers:
            raise CallerError(f"no grammar {kind!r}; choose from: {', '.join(get_args(Kind))}")
        rules = self._whole()
        check(rules)
        return printers[kind](rules)

    def _whole(self) -> dict[str, Expr]:
        """Return all rules, the root first."""
        if "root" not in self._rules:
            raise CallerError("a grammar needs a rule named root")
        whole = {name: expr for name, expr in self._rules.items() if expr is not None}
        if missing := self._rules.keys() - whole.keys():
            raise CallerError(f"rules reserved but not defined: {', '.join(sorted(missing))}")
        return {"root": whole["root"], **whole}


def _free(name: str, taken: dict[str, Expr | None]) -> str:
    """Return a free name of letters, digits and hyphens; `start` is reserved for Lark's root."""
    label = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    label = label if label[:1].isalpha() else f"r-{label}".rstrip("-")
    free, number = label, 1
    while free in taken or free == "start" or (free == "root" and name != "root"):
        number += 1
        free = f"{label}-{number}"
    return free


# --- A check for grammars that llama.cpp refuses: rules that reach themselves before any text ---
#
#     a ::= a "x"          comes back to itself at once
#     a ::= b? a           so does this, as `b` may be nothing
#     ("x"?)*              and this: an open repetition of what may be nothing


def check(rules: Mapping[str, Expr]) -> None:
    """Raise `CallerError` for the first rule that may loop without consuming a character."""
    empty = _nullable(rules)
    for name, expr in rules.items():
        if any(_loops(part, empty) for part in within(expr)):
            raise CallerError(f"rule {name} repeats without end what may be empty")
    first = {name: set(_leftmost(expr, empty)) for name, expr in rules.items()}
    for name in rules:
        if name in _reached(name, first):
            raise CallerError(f"rule {name} comes back to itself before any text")


def _nullable(rules: Mapping[str, Expr]) -> set[str]:
    """Return the nullable rules, those that match the empty text, as a least fixed point."""
    empty: set[str] = set()
    grew = True
    while grew:
        more = {name for name, expr in rules.items() if _may_be_empty(expr, empty)}
        grew = more != empty
        empty = more
    return empty


def _may_be_empty(expr: Expr, empty: set[str]) -> bool:
    match expr:
        case Lit() | Chars():
            return False
        case Seq(parts):
            return all(_may_be_empty(part, empty) for part in parts)
        case Alt(choices):
            return any(_may_be_empty(choice, empty) for choice in choices)
        case Repeat(body, least):
            return least == 0 or _may_be_empty(body, empty)
        case Ref(name):
            return name in empty
        case _:
            return 0 in expr.ends


def _loops(expr: Expr, empty: set[str]) -> bool:
    return isinstance(expr, Repeat) and expr.most is None and _may_be_empty(expr.body, empty)


def _leftmost(expr: Expr, empty: set[str]) -> Iterator[str]:
    """Yield the rules that may start at the beginning of an expression."""
    match expr:
        case Ref(name):
            yield name
        case Seq(parts):
            for part in parts:
                yield from _leftmost(part, empty)
                if not _may_be_empty(part, empty):
                    return
        case Alt(choices):
            for choice in choices:
                yield from _leftmost(choice, empty)
        case Repeat(body):
            yield from _leftmost(body, empty)
        case _:
            pass


def _reached(name: str, first: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = set(first[name])
    while waiting:
        nxt = waiting.pop()
        found.add(nxt)
        waiting |= first[nxt] - found
    return found
