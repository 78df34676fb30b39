"""The dialect that CONTRIBUTING shows is a dialect: small, and true to the laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks import Call, Parser, parse
from callblocks.core.events import Event
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.parsing.grammar.grammar import Kind
from support.corpus import plain_events
from support.corpus_format import event_lines, format_file, parse_file
from support.event_verifier import verify
from support.examples import Examples
from support.guidance import accepts
from support.pages import ROOT, CodeBlock, code_blocks
from support.soup import COMMON, texts
from support.text_pieces import alike, cut
from support.tools import TOOLS, calls
from support.work_counter import work

PAGE = ROOT / "CONTRIBUTING.md"
PARTS = (
    *(
        "«",
        "»",
        "«a {",
        "}»",
        "«a {}»",
        " {",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        '"',
        '"k":',
        "1",
        "1e999",
    ),
    *('«a {"k": 1}»', '«b {"k": "«»"}»', '{"', "[" * 101, "]" * 101),
)


def shown() -> CodeBlock:
    """The block that holds the whole dialect."""
    blocks = code_blocks(PAGE.read_text("utf-8"))
    return next(block for block in blocks if "(NamedJson):" in block.text)


def made() -> Dialect:
    examples = Examples(PAGE, ROOT)
    examples.run_python(shown())
    return examples.namespace["Guillemet"]()


DIALECT = made()


def read(pieces: list[str]) -> list[Event]:
    parser = Parser(DIALECT)
    return [event for piece in pieces for event in parser.feed(piece)] + parser.close()


def test_it_is_under_30_lines() -> None:
    assert len(shown().text.splitlines()) < 30


@given(text=texts((*PARTS * 3, *COMMON)), data=st.data())
def test_any_cut_of_any_text_says_the_same_and_loses_nothing(
    text: str, data: st.DataObject
) -> None:
    whole = read([text])
    verify(text, whole)
    for pieces in (cut(text, data.draw(st.lists(st.integers(0, len(text))))), list(text)):
        events = read(pieces)
        verify(text, events)
        assert alike(events, whole)


@given(text=texts((*PARTS * 3, *COMMON)))
def test_every_code_it_says_is_declared(text: str) -> None:
    declared = {*DIALECT.codes, *GENERAL_CODES}
    assert {event.code for event in parse(text, DIALECT).problems} <= declared


@given(call=calls())
def test_what_it_writes_reads_back_and_fits_its_grammars(call: Call) -> None:
    text = DIALECT.write(["Here: ", call, " and on."], TOOLS)
    assert parse(text, DIALECT).calls[0].input == call.input
    kinds: tuple[Kind, ...] = ("gbnf", "lark")
    for kind in kinds:
        assert accepts(DIALECT.grammar(TOOLS, kind), kind, text)


def test_the_corpus_file_that_is_shown_says_what_is_read() -> None:
    blocks = code_blocks(PAGE.read_text("utf-8"))
    shown = next(block.text for block in blocks if block.text.startswith("# hermes\n"))
    file = parse_file(shown)
    assert format_file(file) == shown
    for case in file.cases:
        told = {**file.options, **case.options}
        events = parse(case.text, "hermes", strict=told["strict"]).events
        assert case.events == event_lines("hermes", case.text, plain_events(events))


def test_it_teaches() -> None:
    assert DIALECT.example(TOOLS) in DIALECT.teach(TOOLS)


@pytest.mark.parametrize("shape", ["«", "«a {", '«a {"', "«a {[", "«a {}»", "«»", "«a \n"])
def test_twice_the_text_is_twice_the_work(shape: str) -> None:
    once, twice = (_work(list(shape * count)) for count in (100, 200))
    assert twice <= 2.2 * once


def _work(pieces: list[str]) -> int:
    return work(DIALECT, pieces)
