"""Who may open a block, and by which markers.

Beside the dialects that are these: pairs of markers around what a model thinks, tokens that end
its turn, and Markdown's code fences where account of them is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from callblocks.parsing.fenced_calls import FencedCalls
from callblocks.parsing.fences import CodeFences
from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.quotations import DiffHunks
from callblocks.parsing.reader import Reader
from callblocks.parsing.thinking import Caller, Pairs, Thinking, ThoughtEnd
from callblocks.parsing.turn_end import TURN_ENDS, TurnEnd

__all__ = ("BEGINNING", "Choice", "InFences", "Openers", "Owner", "Setting", "choose")

# Whether calls in code fences are calls: all of them, none, or those that are a whole body.
InFences: TypeAlias = bool | Literal["whole"]
Rows: TypeAlias = list[tuple[Reader, Sequence[str | Shape]]]
# How many characters tell who may open a block.
BEGINNING = 3
_MOST_BEGINNINGS = 2000


class Setting(NamedTuple):
    """Where a dialect's markers are looked for: quoted in code too? is no other dialect read?"""

    in_code_fences: bool = True
    alone: bool = True


class Owner(Reader, Protocol):
    """A reader and the markers that open its blocks."""

    # Whether Markdown code fences must be tracked for it.
    follows_fences: ClassVar[bool]
    # Whether its calls may be the whole body of a code fence.
    in_fence_bodies: ClassVar[bool]
    # The markers around what its models think.
    reasoning: ClassVar[Pairs]
    # Whether a complete call of a declared tool is a call in a thought that is closed, too.
    calls_end_reasoning: ClassVar[bool]
    # The markers that begin another message, and so end a thought that was not closed.
    reasoning_breaks: ClassVar[tuple[str, ...]]
    # The tokens that end a turn of its models, and show nothing at the end of a text.
    turn_ends: ClassVar[tuple[str, ...]]

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

    def at(self, text: str, fresh: bool, *, quoted: bool = False) -> list[tuple[Reader, Markers]]:
        """Those of whom a marker may begin with this text, at the start of a line or not.

        The text is the first few characters of what waits: dozens of dialects have a marker that
        begins with a newline, and few of them one that begins with it and what follows here.
        """
        found = self._found.get((text, fresh, quoted))
        if found is None:
            readers = self._readers[self._quotable :] if quoted else self._readers
            found = [pair for pair in readers if pair[1].may_begin(text, fresh)]
            if len(self._found) >= _MOST_BEGINNINGS:
                self._found.clear()
            self._found[text, fresh, quoted] = found
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
    readers: Rows = [
        (owner, tuple(owner.openers(Setting(anywhere, alone=owner is preferred))))
        for owner in owners
    ]
    everywhere = _turn_ends(owners, preferred)
    thoughts = _Thoughts(owners, preferred, reasoning, anywhere, everywhere)
    readers += thoughts.rows()
    tracked = not anywhere or any(owner.follows_fences for owner in owners)
    inside = readers if anywhere else []
    if in_code_fences == "whole":
        readers.append((FencedCalls(), FencedCalls.OPENERS))
    if not anywhere:
        readers.append((DiffHunks(), DiffHunks.OPENERS))
    if tracked:
        everywhere.append((CodeFences(), CodeFences.OPENERS))
    outside = Openers([*readers, *everywhere], quotable=len(owners))
    inside = Openers([*inside, *everywhere])
    return Choice(outside, inside, thoughts.opened())


class _Thoughts:
    """The readers of thoughts: one for each opening, and one for a thought that the prompt opened.

    `reasoning` are pairs of markers that the caller names beside the owners' own.
    """

    def __init__(
        self,
        owners: tuple[Owner, ...],
        preferred: Owner | None,
        reasoning: Pairs,
        anywhere: bool,
        turn_ends: Rows,
    ) -> None:
        own = (pair for owner in owners for pair in owner.reasoning)
        self._pairs = tuple(dict.fromkeys((*reasoning, *own)))
        self._owners, self._preferred, self._given = owners, preferred, reasoning
        self._anywhere, self._turn_ends = anywhere, next(iter(turn_ends), None)

    def rows(self) -> Rows:
        """Who reads thoughts that the text opens, and the end of one that the prompt opened."""
        rows: Rows = []
        for opening in dict.fromkeys(opening for opening, _ in self._pairs):
            pairs = tuple(pair for pair in self._pairs if pair[0] == opening)
            given = any(pair in self._given for pair in pairs)
            sure = self._preferred is not None and pairs[0] in self._preferred.reasoning
            # Words may begin anybody's answer. Where it is only guessed what the model is, it
            # thinks first, or not at all.
            if given or sure or _is_markup(opening):
                only_first = not given and not (sure and _is_markup(opening))
                rows.append((self._thinking(pairs, only_first=only_first), (opening,)))
        ends = tuple(filter(_is_markup, dict.fromkeys(closing for _, closing in self._pairs)))
        return [*rows, (ThoughtEnd(), ends)] if ends else rows

    def opened(self) -> Thinking | None:
        """Who reads on where the prompt opened a thought; None where no markers are known."""
        return self._thinking(self._pairs) if self._pairs else None

    def _thinking(self, pairs: Pairs, *, only_first: bool = False) -> Thinking:
        owners = (owner for owner in self._owners if not {*pairs}.isdisjoint(owner.reasoning))
        return Thinking(
            tuple(dict.fromkeys(closing for _, closing in pairs)),
            self._callers,
            openings=tuple(dict.fromkeys(opening for opening, _ in pairs)),
            breaks=tuple(dict.fromkeys(mark for one in owners for mark in one.reasoning_breaks)),
            turn_ends=self._turn_ends,
            only_first=only_first,
        )

    @cached_property
    def _callers(self) -> tuple[Caller, ...]:
        """Whose calls may stand in a thought.

        A thought may speak of calls in many ways: only what is sure among others is a call
        whatever follows. What is a call only because its dialect was named must be all that the
        thought comes to.
        """
        callers: list[Caller] = []
        for owner in self._owners:
            alone = owner is self._preferred
            sure = tuple(owner.openers(Setting(self._anywhere, alone=False)))
            callers.append(Caller(owner, sure, owner.calls_end_reasoning, alone))
            if alone:
                named = owner.openers(Setting(self._anywhere, alone=True))
                weak = tuple(opener for opener in named if opener not in sure)
                callers.append(Caller(owner, weak, False, alone))
        return tuple(callers)


def _is_markup(marker: str) -> bool:
    return not marker[0].isalnum()


def _turn_ends(owners: tuple[Owner, ...], preferred: Owner | None) -> Rows:
    ends = dict.fromkeys(token for owner in owners for token in owner.turn_ends)
    strays = tuple(one for one in (preferred.closers if preferred else ()) if one not in ends)
    known = (*ends, *strays)
    sure = (*TURN_ENDS, *(preferred.turn_ends if preferred else ()))
    unsure = tuple(token for token in known if token not in sure)
    return [(TurnEnd(known, unsure, strays), known)] if known else []
