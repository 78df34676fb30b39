"""Every dialect reads its corpus the same way, however the text is cut.

The cases of a dialect stand in `<dialect>.txt`; `support.corpus_format` describes the format.
`pytest --accept` writes the events from what was seen: read the diff before you commit it.
"""

from __future__ import annotations

from random import Random

import pytest

from callblocks.core.events import join
from callblocks.parser import AUTO
from support.corpus import CORPUS, Case, cases_of, naming, options, record_events
from support.event_verifier import verify
from support.sampling import sample
from support.text_pieces import NAMES, alike, cut, read

LEAST = 15
LEAST_FOR_AUTO = 20
RANDOM_CUTS = 5
APART = 48
"""How far apart two cuts of one reading are: no marker is as long."""


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.no_cover  # the next one reads the same texts
def test_the_texts_read_as_recorded(dialect: str, request: pytest.FixtureRequest) -> None:
    """All cases of a dialect are read before one fails, so that each that changed is named."""
    seen: dict[str, tuple[str, ...]] = {}
    for case in cases_of(dialect):
        given = options(case)
        with naming(case):
            events = read(dialect, [case.text], **given)
            verify(case.text, events, given.get("reasoning", ()))
            seen[case.title] = case.lines(events)
    if request.config.getoption("--accept"):
        record_events(dialect, seen)
    changed = [case for case in cases_of(dialect) if seen[case.title] != case.events]
    for case in changed:
        named = "\n".join(map(str, changed))
        assert seen[case.title] == case.events, f"these changed:\n{named}"


@pytest.mark.parametrize("dialect", NAMES)
def test_a_character_at_a_time_reads_the_same(dialect: str) -> None:
    for case in cases_of(dialect):
        given = options(case)
        with naming(case):
            each = read(dialect, list(case.text), **given)
            verify(case.text, each, given.get("reasoning", ()))
            assert alike(each, read(dialect, [case.text], **given))


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.no_cover  # every way is walked by the one above
def test_cuts_do_not_matter(dialect: str) -> None:
    for case in cases_of(dialect):
        with naming(case):
            check_cuts(case)


def check_cuts(case: Case) -> None:
    """Cut the text of a case everywhere, and at random.

    One reading has many cuts, so far apart that each has whole markers before and after it. So a
    text is read as often as two cuts are apart, and not as often as it has characters. Of these
    readings each sixth one is made, beginning with another one in each case: the cases of a dialect
    are cut at all distances from their markers, and `CALLBLOCKS_FULL=1` cuts each case everywhere.
    """
    text, given, dialect = case.text, options(case), case.dialect
    whole = join(read(dialect, [text], **given))
    random = Random(case.title)
    firsts = sample(range(1, min(APART + 1, len(text))), of=6, seed=case.title)
    places = [
        *(range(first, len(text), APART) for first in firsts),
        *(random.choices(range(len(text) + 1), k=5) for _ in range(RANDOM_CUTS)),
    ]
    for at in places:
        pieces = cut(text, at)
        events = join(read(dialect, pieces, **given))
        assert events == whole or alike(events, whole), f"cut as {pieces}"


@pytest.mark.parametrize("dialect", NAMES)
def test_every_dialect_has_a_corpus(dialect: str) -> None:
    found = len(cases_of(dialect))
    least = LEAST_FOR_AUTO if dialect == AUTO else LEAST
    assert found >= least, f"tests/corpus/{dialect}.txt has {found} cases of at least {least}"


def test_every_file_is_of_a_dialect() -> None:
    assert {path.stem for path in CORPUS.glob("*.txt")} <= set(NAMES)
