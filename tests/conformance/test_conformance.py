"""Cases of other parsers: most are read alike, each difference has a reason, no cut matters."""

from __future__ import annotations

from itertools import groupby
from random import Random
from typing import Any

import pytest

from callblocks.core.events import CallReady, Event, join
from conformance.agreeing import difference, options
from conformance.reasons import AGREED, REASONS
from conformance.vectors import Case, cases, unflagged
from support.event_verifier import verify
from support.text_pieces import alike, cut, read

LEAST = 0.95
SHORT = 150
PLACES = 12
FILES = {
    name: list(group)
    for name, group in groupby(cases(), key=lambda case: case.id.partition(":")[0])
}
each_file = pytest.mark.parametrize("name", FILES)


def test_most_of_the_cases_are_read_as_their_peers_read_them() -> None:
    found = unflagged()
    differ = {case.id: what for case in found if (what := difference(case))}
    assert len(found) - len(differ) >= LEAST * len(found)
    assert {name: what for name, what in differ.items() if name not in REASONS} == {}
    assert set(REASONS) <= set(differ), "these agree now: leave them out of reasons.json"
    assert (len(found) - len(differ), len(found)) == AGREED


@each_file
@pytest.mark.no_cover  # every way is walked by the corpus
def test_every_case_is_read_the_same_however_it_is_cut(name: str) -> None:
    for case in FILES[name]:
        given = options(case)
        whole = read(case.dialect, [case.text], **given)
        verify(case.text, whole)
        expected = join(whole)
        for pieces in _cuttings(case):
            seen = read(case.dialect, pieces, **given)
            assert alike(seen, expected), f"{case.id} cut as {pieces}"


@each_file
@pytest.mark.no_cover
def test_no_start_of_a_case_is_taken_for_more_than_it_is(name: str) -> None:
    random = Random(name)
    for case in FILES[name]:
        given = options(case)
        full = read(case.dialect, [case.text], **given)
        for end in random.sample(range(len(case.text) + 1), k=min(3, len(case.text))):
            events = read(case.dialect, [case.text[:end]], **given)
            verify(case.text[:end], events)
            assert _ended(events) <= len(_calls(full)) + 1, f"{case.id} cut off at {end}"


def _cuttings(case: Case) -> list[list[str]]:
    text, random = case.text, Random(case.id)
    places = range(1, len(text))
    if len(text) > SHORT:
        places = random.sample(places, k=PLACES)
    own = [case.chunks] if "".join(case.chunks) == text else []
    return [list(text), *own, *(cut(text, [at]) for at in places)]


def _calls(events: list[Event]) -> list[Any]:
    return [event.call for event in events if isinstance(event, CallReady)]


def _ended(events: list[Event]) -> int:
    return sum(call.ended for call in _calls(events))
