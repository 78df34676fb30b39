from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.events import CallInput, CallReady, CallStarted, Text
from callblocks.dialects import dialects
from callblocks.parser import Parser, parse
from callblocks.views.text.rewrite import arrivals, step_of
from support.soup import soup

CALL = "Hi 🛠[say hello]\nbody🛠[/end] bye"
NAMES = ("auto", *dialects)


@given(soup("auto"), st.sampled_from(NAMES))
def test_the_events_are_those_of_the_whole_text(text: str, name: str) -> None:
    assert [one.event for one in arrivals(text, name)] == parse(text, name).events


@given(soup("auto"), st.sampled_from(NAMES))
def test_an_event_is_known_no_sooner_than_its_first_character_and_in_order(
    text: str, name: str
) -> None:
    places = [one.at for one in arrivals(text, name)]
    assert places == sorted(places)
    for one in arrivals(text, name):
        start, end = one.event.span
        assert one.at >= min(start + (end > start), len(text))
        assert one.at <= len(text)


@given(soup("auto"))
def test_what_had_arrived_is_what_a_parser_says_of_the_text_so_far(text: str) -> None:
    known = arrivals(text)
    for cut in range(0, len(text), max(1, len(text) // 5)):
        parser = Parser("auto")
        said = [event for piece in text[:cut] for event in parser.feed(piece)]
        started = [event for event in said if isinstance(event, CallStarted | CallReady)]
        wanted = [one.event for one in known if one.at <= cut]
        assert [e for e in wanted if isinstance(e, CallStarted | CallReady)] == started


def test_a_call_is_known_when_its_opening_ends_and_ready_when_its_end_does() -> None:
    found = {type(one.event): one.at for one in arrivals(CALL) if not isinstance(one.event, Text)}
    assert found[CallStarted] == CALL.index("]") + 1
    assert found[CallInput] == CALL.index("]") + 2
    assert found[CallReady] == CALL.rindex("]") + 1


@pytest.mark.parametrize(("length", "step"), [(0, 1), (1, 1), (250_000, 1), (250_001, 2)])
def test_a_long_text_arrives_by_larger_pieces(length: int, step: int) -> None:
    assert step_of("x" * length) == step


def test_a_long_text_has_the_same_events() -> None:
    text = f"{'x' * 260_000}\n{CALL}"
    known = arrivals(text)
    assert [one.event for one in known] == parse(text).events
    assert all(one.at % 2 == 0 or one.at == len(text) for one in known)
