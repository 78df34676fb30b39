"""Every code that a text can get is declared, and met in the corpus."""

from __future__ import annotations

import ast

from callblocks import dialects
from callblocks.parsing.engine.ids import GENERAL_CODES
from support.corpus import all_cases, recorded_events
from support.sources import nodes

DECLARED = {*GENERAL_CODES, *(code for dialect in dialects.values() for code in dialect.codes)}
# A corpus case is text, so no bytes in it are wrong: the tests of the command line meet this one.
OF_BYTES = {"invalid-utf8"}
# A call that a server gives natively stands in no text: the tests of sessions meet these.
OF_NATIVE = {"native.input", "native.twice"}
SAYING = {"malformed", "problem", "prose", "Malformed", "Problem"}


def test_a_code_is_declared_once() -> None:
    own = (vars(type(dialect)).get("codes", ()) for dialect in dialects.values())
    every = [*GENERAL_CODES, *(code for codes in own for code in codes)]
    assert sorted(every) == sorted(DECLARED)


def test_a_code_with_a_dot_begins_with_its_dialect() -> None:
    own = [
        (name, code)
        for name, dialect in dialects.items()
        for code in vars(type(dialect)).get("codes", ())
    ]
    assert [code for name, code in own if "." in code and code.partition(".")[0] != name] == []
    assert [code for code in GENERAL_CODES if "." in code] == []


def test_every_code_in_the_sources_is_declared() -> None:
    assert _said() - OF_NATIVE - DECLARED == set()


def test_every_code_in_the_corpus_is_declared() -> None:
    assert _met() - DECLARED == set()


def test_every_declared_code_is_met_in_the_corpus() -> None:
    assert DECLARED - OF_BYTES - _met() == set()


def _met() -> set[str]:
    events = [event for case in all_cases() for event in recorded_events(case)]
    return {event["code"] for event in events if "code" in event}


def _said() -> set[str]:
    """The codes that stand as the first argument of whatever says a problem."""
    calls = [
        node
        for node in nodes(*(f"{name}(" for name in SAYING))
        if isinstance(node, ast.Call) and node.args and _name(node.func) in SAYING
    ]
    first = [call.args[0] for call in calls]
    return {str(node.value) for node in first if isinstance(node, ast.Constant) and node.value}


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
