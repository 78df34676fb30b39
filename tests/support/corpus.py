"""The cases of the corpus: texts, options of the parser, recorded events.

The cases of a dialect stand in `tests/corpus/<dialect>.txt`; `support.corpus_format` says how. Each
file is read once in a process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from callblocks import Limits
from callblocks.core.events import Event, join
from callblocks.core.specs import read_specs
from support.corpus_format import (
    CorpusCase,
    CorpusFile,
    event_lines,
    events_of,
    format_file,
    parse_file,
)

__all__ = (
    "CORPUS",
    "Case",
    "add_case",
    "all_cases",
    "cases_of",
    "fragments",
    "naming",
    "options",
    "plain_events",
    "record_events",
    "recorded_events",
    "texts_of",
)

CORPUS = Path(__file__).parent.parent / "corpus"
_READERS = {
    "tools": read_specs,
    "reasoning": lambda pairs: tuple(map(tuple, pairs)),
    "in_reasoning": bool,
    "limits": lambda limits: Limits(**limits),
    "in_code_fences": bool,
    "strict": bool,
    "model": str,
}


class Case(NamedTuple):
    """A case of a dialect. `options` are as written, those of its file included."""

    dialect: str
    title: str
    text: str
    options: Mapping[str, Any]
    events: tuple[str, ...]
    line: int

    def __str__(self) -> str:
        return f"tests/corpus/{self.dialect}.txt:{self.line}: {self.title}"

    def lines(self, events: Iterable[Event]) -> tuple[str, ...]:
        """Return the lines of events that were read from its text; they are joined first."""
        return tuple(event_lines(self.dialect, self.text, plain_events(events)))


@cache
def cases_of(dialect: str) -> tuple[Case, ...]:
    """Return the cases of a dialect, in the order of its file."""
    path = CORPUS / f"{dialect}.txt"
    if not path.exists():
        return ()
    try:
        file = parse_file(_content(path))
    except ValueError as error:
        error.add_note(f"The file is {path}.")
        raise
    return tuple(
        Case(
            dialect,
            case.title,
            case.text,
            file.options | case.options,
            tuple(case.events),
            case.line,
        )
        for case in file.cases
    )


@cache
def all_cases() -> tuple[Case, ...]:
    """Return the cases of all dialects, by the names of these."""
    names = sorted(path.stem for path in CORPUS.glob("*.txt"))
    return tuple(case for name in names for case in cases_of(name))


@contextmanager
def naming(case: Case) -> Generator[None]:
    """Name the case in whatever fails here: one test goes through many."""
    try:
        yield
    except Exception as error:
        error.add_note(f"The case is {case}.")
        raise


def options(case: Case) -> dict[str, Any]:
    """Return how a case is to be read, in a new dictionary."""
    return {name: _READERS[name](value) for name, value in case.options.items()}


def plain_events(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return events as objects of JSON, joined."""
    return [msgspec.to_builtins(event) for event in join(list(events))]


def recorded_events(case: Case) -> list[dict[str, Any]]:
    """Return the events that are recorded for a case, as objects of JSON."""
    with naming(case):
        return events_of(case.dialect, case.text, case.events)


def record_events(dialect: str, lines: Mapping[str, Iterable[str]]) -> None:
    """Write the lines of events, by the titles of their cases, into the file of a dialect."""
    path = CORPUS / f"{dialect}.txt"
    file = parse_file(_content(path))
    for case in file.cases:
        case.events = [*lines[case.title]]
    path.write_text(format_file(file), "utf-8", newline="")
    _forget()


def add_case(path: Path) -> str:
    """Put the text of `DIALECT/CLAIM.txt` where its title sorts; return the file and the title."""
    title = path.stem.replace("-s-", "'s ").replace("-", " ")
    given = path.with_suffix(".json")
    new = CorpusCase(title, _content(path), json.loads(_content(given)) if given.exists() else {})
    target = CORPUS / f"{path.parent.name}.txt"
    file = parse_file(_content(target)) if target.exists() else CorpusFile(target.stem)
    for case in file.cases:
        if case.title == title and (case.text, case.options) != (new.text, new.options):
            raise ValueError(f"another case has the title {title!r} in line {case.line}")
    if title not in [case.title for case in file.cases]:
        behind = (at for at, case in enumerate(file.cases) if case.title > title)
        file.cases.insert(next(behind, len(file.cases)), new)
        target.write_text(format_file(file), "utf-8", newline="")
        _forget()
    return f"{target.name}: {title}"


def _forget() -> None:
    cases_of.cache_clear()
    all_cases.cache_clear()
    texts_of.cache_clear()
    fragments.cache_clear()


def _content(path: Path) -> str:
    return path.read_bytes().decode()


@cache
def texts_of(dialect: str) -> tuple[str, ...]:
    """Return the texts of a dialect's cases."""
    return tuple(case.text for case in cases_of(dialect))


@cache
def fragments(dialect: str) -> tuple[str, ...]:
    """Return tags, words, blanks and marks of a dialect's cases: random texts are made of them."""
    found = (
        part
        for text in texts_of(dialect)
        for part in re.findall(r"<[^<>\n]*>|\w+|\s+|[^\w\s]+", text)
    )
    return tuple(dict.fromkeys(found))[:200]
