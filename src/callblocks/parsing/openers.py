"""Who may open a block, and by which markers.

Beside the dialects that are these: pairs of markers around what a model thinks, tokens that end
its turn, and Markdown's code fences where account of them is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from callblocks.parsing.fenced_calls import FencedCalls
from callblocks.parsing.fences import CodeFences
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.quotations import DiffHunks
from callblocks.parsing.reader import Reader
from callblocks.parsing.thinking import Pairs, Thinking, ThoughtEnd
from callblocks.parsing.turn_end import TURN_ENDS, TurnEnd

__all__ = ("Choice", "InFences", "Openers", "Owner", "Setting", "choose")

InFences: TypeAlias = bool | Literal["whole"]
"""Whether calls in code fences are calls: all of them, none, or those that are a whole body."""
Rows: TypeAlias = list[tuple[Reader, Sequence[str | Shape]]]


class Setting(NamedTuple):
    """Where a dialect's markers are looked for: quoted in code too? is no other dialect read?"""

    in_code_fences: bool = True
    alone: bool = True


class Owner(Reader, Protocol):
    """A reader and the markers that open its blocks."""

    follows_fences: ClassVar[bool]
    """Whether Markdown code fences must be tracked for it."""
    in_fence_bodies: ClassVar[bool]
    """Whether its calls may be the whole body of a code fence."""
    reasoning: ClassVar[Pairs]
    """The markers around what its models think."""
    calls_end_reasoning: ClassVar[bool]
    """Whether a complete call of a known tool ends what a model thinks."""
    turn_ends: ClassVar[tuple[str, ...]]
    """The tokens that end a turn of its models, and show nothing at the end of a text."""

    @property
    def closers(self) -> tuple[str, ...]:
        """The markers that close its calls, and mean nothing where none is open."""
        ...

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """The markers that may open a block."""
        ...


class Openers:
    """Who may open a block here, each with its own markers, and all of them as one search."""

    def __init__(self, readers: Rows, *, quotable: int = 0) -> None:
        """The first `quotable` readers read calls: they are not asked about a quotation."""
        self.markers = Markers(*(marker for _, openers in readers for marker in openers))
        self._readers = [(reader, Markers(*openers)) for reader, openers in readers]
        self._quotable = quotable
        self._found: dict[tuple[str, bool, bool], list[tuple[Reader, Markers]]] = {}

    def at(self, char: str, fresh: bool, *, quoted: bool = False) -> list[tuple[Reader, Markers]]:
        """Those of whom a marker may begin with this character, at the start of a line or not."""
        found = self._found.get((char, fresh, quoted))
        if found is None:
            readers = self._readers[self._quotable :] if quoted else self._readers
            found = [pair for pair in readers if pair[1].may_begin(char, fresh)]
            self._found[char, fresh, quoted] = found
        return found


class Choice(NamedTuple):
    """The openers outside Markdown code fences, those inside, and what ends a thought."""

    outside: Openers
    inside: Openers
    thinking: Thinking | None


# Room for each dialect alone in every setting: who asks them all in turn finds them again.
@lru_cache(maxsize=1024)
def choose(
    owners: tuple[Owner, ...], preferred: Owner | None, in_code_fences: InFences, reasoning: Pairs
) -> Choice:
    """Who may open a block; `reasoning` are pairs that the caller names beside the owners' own.

    The one that is preferred opens all that it would if it were alone.
    """
    anywhere = in_code_fences is True
    own = dict.fromkeys(pair for owner in owners for pair in owner.reasoning)
    pairs = (*reasoning, *(pair for pair in own if pair not in reasoning))
    readers: Rows = [
        (owner, tuple(owner.openers(Setting(anywhere, alone=owner is preferred))))
        for owner in owners
    ]
    # A thought may speak of calls in many ways: only what is sure among others ends it.
    enders = tuple(
        (owner, tuple(owner.openers(Setting(anywhere, alone=False))))
        for owner in owners
        if owner.calls_end_reasoning
    )
    # Where it is only guessed what the model is, it thinks first, or not at all.
    sure = (*reasoning, *(preferred.reasoning if preferred else ()))
    for open_, close in pairs:
        only_first = (open_, close) not in sure
        # Words that are no markup may begin anybody's answer.
        if only_first and open_[0].isalnum():
            continue
        readers.append((Thinking((close,), enders, only_first=only_first), (open_,)))
    ends = tuple(pair[1] for pair in pairs if enders or pair in own)
    if ends:
        readers.append((ThoughtEnd(), ends))
    tracked = not anywhere or any(owner.follows_fences for owner in owners)
    everywhere = _turn_ends(owners, preferred)
    inside = readers if anywhere else []
    if in_code_fences == "whole":
        readers.append((FencedCalls(), FencedCalls.OPENERS))
    if not anywhere:
        readers.append((DiffHunks(), DiffHunks.OPENERS))
    if tracked:
        everywhere.append((CodeFences(), CodeFences.OPENERS))
    closings = tuple(close for _, close in pairs)
    thinking = Thinking(closings, enders, openings=tuple(o for o, _ in pairs)) if pairs else None
    outside = Openers([*readers, *everywhere], quotable=len(owners))
    inside = Openers([*inside, *everywhere])
    return Choice(outside, inside, thinking)


def _turn_ends(owners: tuple[Owner, ...], preferred: Owner | None) -> Rows:
    ends = dict.fromkeys(token for owner in owners for token in owner.turn_ends)
    strays = tuple(one for one in (preferred.closers if preferred else ()) if one not in ends)
    known = (*ends, *strays)
    sure = (*TURN_ENDS, *(preferred.turn_ends if preferred else ()))
    unsure = tuple(token for token in known if token not in sure)
    return [(TurnEnd(known, unsure, strays), known)] if known else []
