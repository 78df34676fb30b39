"""Automata for text up to, or without, certain markers, for use in grammars.

    without(["<call>", "<end>"])    any text that has neither in it, also none at all
    until(["</call>"])              any text, and then the first `</call>`

The automaton is that of Aho and Corasick: a state is the longest suffix of the text so far that is
a prefix of a marker. With the marker `<end>`, the text `a<<en` is in the state `<en`; after `x` it
is in the state ``.

Each step takes a single character. A grammar with a rule per marker prefix would be shorter, but
llguidance cuts text into terminals by the longest match, and words of several characters compete.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from callblocks.model.errors import CallerError
from callblocks.parsing.expressions import Chars, Machine

__all__ = ("one_of", "until", "without")


def without(markers: Sequence[str]) -> Machine:
    """Return an automaton for any text, also the empty one, that contains none of the markers.

    A marker behind it may have begun inside of it (one backtick, then three). If that matters, use
    `until` with that marker instead.
    """
    states = _states(markers)
    steps = tuple(_steps(state, states, markers, {}) for state in states)
    return Machine(steps, frozenset(range(len(states))))


def until(ends: Sequence[str], markers: Sequence[str] = ()) -> Machine:
    """Return an automaton for any text up to the first of `ends`, without any of `markers`."""
    words = (*ends, *markers)
    states = _states(words)
    for end in ends:
        _check_reachable(end, words)
    last = len(states)
    finals = dict.fromkeys(ends, last)
    steps = tuple(_steps(state, states, words, finals) for state in states)
    return Machine((*steps, ()), frozenset({last}))


def one_of(found: Iterable[str], negated: bool = False) -> Chars:
    """Return a class of exactly these characters, or of all others."""
    return Chars(tuple((char, char) for char in found), negated)


def _states(words: Sequence[str]) -> tuple[str, ...]:
    """Return every proper prefix of a word that contains no whole word, the empty one first."""
    if not words or not all(words):
        raise CallerError(f"markers are texts of at least one character, not {list(words)!r}")
    begun = dict.fromkeys(word[:size] for word in words for size in range(len(word)))
    return tuple(text for text in begun if not any(word in text for word in words))


def _check_reachable(end: str, words: Sequence[str]) -> None:
    early = next((word for word in words if word in end[:-1]), None)
    if early is not None:
        raise CallerError(f"the end {end!r} is never reached: {early!r} in it comes first")


def _steps(
    state: str, states: Sequence[str], words: Sequence[str], finals: dict[str, int]
) -> tuple[tuple[Chars, int], ...]:
    """Return the steps of a state; a character that completes a word leads to `finals` or nowhere.

    All characters that occur in no word lead to the start, and share one negated class.
    """
    # Only characters that occur in words need steps of their own. A step to state 0 is covered by
    # the negated class of all others, and a step to None (a forbidden word) must be left out of it.
    taken: dict[str, int | None] = {}
    for char in dict.fromkeys("".join(words)):
        text = state + char
        whole = max((word for word in words if text.endswith(word)), key=len, default=None)
        target = finals.get(whole) if whole else _longest(text, states)
        if target != 0:
            taken[char] = target
    steps = ((one_of(char), target) for char, target in taken.items() if target is not None)
    return (*steps, (one_of(taken, negated=True), 0))


def _longest(text: str, states: Sequence[str]) -> int:
    return next(states.index(text[at:]) for at in range(len(text) + 1) if text[at:] in states)
