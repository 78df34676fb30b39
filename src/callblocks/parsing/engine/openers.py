"""The table of openers: which readers may open a block, by which markers, in which order.

The engine has two tables, one for text outside of Markdown code fences and one for text inside. A
table has these rows, and the engine asks them in this order:

    dialects       in the caller's order (for `auto`, the order of the table of dialects)
    reasoning      one reader per opening marker (`<think>`), one for a stray closing marker
    FencedCalls    only for "whole": a code fence whose whole body is calls
    DiffHunks      unless calls in fences count: a hunk of a diff is prose
    TurnEnd        tokens such as `<|im_end|>`; in both tables
    CodeFences     tracks the fences, if anything depends on them; in both tables, and last, since
                   its markers are those of dialects that write fences

Why one table and not one parser per dialect: whichever opener comes first in the text owns it, and
one combined search finds that opener for sixty dialects at the cost of one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from callblocks.parsing.engine.block import Block, Reader, Refused
from callblocks.parsing.engine.fences import CodeFences, FencedCalls
from callblocks.parsing.engine.markers import Beginnings, Markers, Shape
from callblocks.parsing.engine.parse_state import ParseState, Reading
from callblocks.parsing.engine.quotations import DiffHunks
from callblocks.parsing.engine.reasoning import Caller, Pairs, Thinking, ThoughtEnd

__all__ = (
    "BEGINNING",
    "TURN_ENDS",
    "InFences",
    "OpenerSets",
    "Openers",
    "Owner",
    "Setting",
    "TurnEnd",
    "choose",
    "closers_of",
    "lone_markers",
    "read_strays",
)

# --- Tokens that end a model's turn (`<|im_end|>`, `<end_of_turn>`), and stray closing markers ---
#
# Most servers strip turn ends; one at the end of a text is markup. A dialect's closing marker
# without an open call is markup right behind one of its calls, and at the end of a text with a
# call; each is reported. Anywhere else both are prose, because then the text is about them.

# A marker in brackets with at least one letter.
_LONE = re.compile(r"[<\[].*[A-Za-z].*[>\]]")
_BLANKS = "[ \\t\\r\\n]{0,100}"

# Tokens that are unambiguous, whatever the model is.
TURN_ENDS = (
    *("<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|end|>"),
    *("<|eos|>", "<|EOT|>", "<|assistant_end|>", "<|user|>", "<|observation|>"),
    *("<|END_OF_TURN_TOKEN|>", "<end_of_turn>", "<turn|>", "<seed:eos>", "<｜end▁of▁sentence｜>"),
)
# Tokens that end a text of other models. HTML has such tags, so they count only behind a call.
_BEHIND_CALLS = ("</s>", "<eos>")


class TurnEnd:
    """A reader of a run of such tokens at the end of the text.

    `unsure` ones count only in a text with a call. `strays` are the closing markers among them.
    """

    name: ClassVar = "turn-end"

    def __init__(
        self, tokens: tuple[str, ...], unsure: tuple[str, ...], strays: tuple[str, ...]
    ) -> None:
        self._tokens = Markers(*tokens)
        self._unsure = unsure
        self._strays = strays

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening in self._unsure and not block.stage.ready:
            return block.refuse(expected="a call before it", at=block.start)
        found, char = [block.opening], (yield from block.peek())
        while char and (token := (yield from block.match(self._tokens))):
            found.append(token)
            char = yield from block.peek()
        if char:
            return block.refuse(until=block.offset, expected="the end of the text")
        block.markup()
        for token in found:
            if token in self._strays:
                block.problem("stray-closer", f"{token} closes nothing")
        return None


def read_strays(stage: ParseState, name: str, closers: Markers) -> Reading[None]:
    """Consume the closing markers right behind a call, and report that they close nothing."""
    while True:
        marker, certain = stage.scan.match(closers)
        while not certain:
            yield
            marker, certain = stage.scan.match(closers)
        if marker is None:
            return
        block = Block(stage, name, marker)
        block.markup()
        block.problem("stray-closer", f"{marker.strip()} closes nothing")


# The cache has room for every dialect, its siblings, and dialects of the caller.
@lru_cache(maxsize=1024)
def closers_of(reader: Reader) -> Markers | None:
    """Return a reader's closing markers with blanks before them; None if it has none."""
    tokens: tuple[str, ...] = getattr(reader, "closers", ())
    own: tuple[str, ...] = getattr(reader, "turn_ends", ())
    if own:
        tokens = (*tokens, *(one for one in _BEHIND_CALLS if one not in (*tokens, *own)))
    shapes = (Shape((_BLANKS, *map(re.escape, token))) for token in tokens)
    return Markers(*shapes) if tokens else None


@cache
def lone_markers(*markers: str) -> tuple[str, ...]:
    """Return the markers that are unambiguous alone: letters in brackets, as `</call>`, not `)`."""
    return tuple(dict.fromkeys(one for one in markers if _LONE.fullmatch(one)))


# --- The table of openers: which readers may open a block, by which markers, in which order ---

# Which calls in code fences count: all (True), none (False), or only those that together are the
# whole body of a fence ("whole").
InFences: TypeAlias = bool | Literal["whole"]
Rows: TypeAlias = list[tuple[Reader, Sequence[str | Shape]]]
# The number of characters by which the candidates for an opener are chosen. With three, few of the
# dozens of dialects remain whose openers begin with a newline.
BEGINNING = 3
# A table with more openers than so many is searched with a filter.
_MANY = 150
# The size at which the cache of `Openers.at` is cleared.
_MOST_BEGINNINGS = 2000


class Setting(NamedTuple):
    """The conditions of a search for openers.

    `in_code_fences`: calls inside of code fences count. `alone`: no other dialect is read, or the
    model is known to write this one, so ambiguous openers such as a bare `{` may be used.
    """

    in_code_fences: bool = True
    alone: bool = True


class Owner(Reader, Protocol):
    """A reader and the markers that open its blocks."""

    # True if the engine must track Markdown code fences for this owner.
    follows_fences: ClassVar[bool]
    # True if its calls may be the whole body of a code fence.
    in_fence_bodies: ClassVar[bool]
    # The pairs of markers around the reasoning of its models.
    reasoning: ClassVar[Pairs]
    # True if a complete call of a declared tool counts inside of a closed thought, too.
    calls_end_reasoning: ClassVar[bool]
    # The markers that begin another message, and so end a thought that was not closed.
    reasoning_breaks: ClassVar[tuple[str, ...]]
    # The tokens that end a turn of its models, and show nothing at the end of a text.
    turn_ends: ClassVar[tuple[str, ...]]

    @property
    def closers(self) -> tuple[str, ...]:
        """The markers that close its calls; without an open call they carry no meaning."""
        ...

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """Return the markers that may open a block."""
        ...


class Openers:
    """A table of readers with their openers, and one search over all openers."""

    def __init__(self, readers: Rows, *, quotable: int = 0) -> None:
        """Make a table. The first `quotable` readers read calls and are not asked in quotations."""
        every = [marker for _, openers in readers for marker in openers]
        many = len(every) > _MANY
        # The search needs only a filter: `_open` matches the openers itself. `with_crlf` is for
        # texts in which the search found a CR.
        self.markers: Markers = Beginnings(*every) if many else Markers(*every)
        self.with_crlf: Markers = Beginnings(*every, crlf=True) if many else self.markers
        self._readers = [(reader, Markers(*openers)) for reader, openers in readers]
        self._quotable = quotable
        self._found: dict[tuple[str, bool, bool], list[tuple[Reader, Markers]]] = {}

    def at(self, text: str, fresh: bool, *, quoted: bool = False) -> list[tuple[Reader, Markers]]:
        """Return the readers with an opener that may begin with this text.

        `text` is the first few characters of the pending text, `fresh` tells that a line starts
        there. The result is a superset: the caller matches the openers themselves. It is cached,
        for openers repeat, and the cache is cleared when it is full because a hostile text could
        otherwise grow it without bound.
        """
        found = self._found.get((text, fresh, quoted))
        if found is None:
            readers = self._readers[self._quotable :] if quoted else self._readers
            found = [pair for pair in readers if pair[1].may_begin(text, fresh)]
            if len(self._found) >= _MOST_BEGINNINGS:
                self._found.clear()
            self._found[text, fresh, quoted] = found
        return found

    def declines(self, opener: str, stage: ParseState) -> bool:
        """Return whether this opener begins no block of any reader, whatever text follows it.

        A reader whose openers match hardly anything but prose says so by a method `declines`.
        """
        for reader, markers in self.at(opener[:BEGINNING], fresh=False):
            hit = markers.growing.match(opener)
            if hit is None:
                continue
            declines = getattr(reader, "declines", None)
            is_all = hit.lastindex is not None and hit.end() == len(opener)
            if declines is None or not is_all or not declines(opener, stage):
                return False
        return True


class OpenerSets(NamedTuple):
    """The openers outside of code fences, those inside, and the reader of an opened thought."""

    outside: Openers
    inside: Openers
    thinking: Thinking | None


# Compiling the markers of all dialects takes a tenth of a second, so tables are shared by parsers.
# The cache has room for each dialect alone in every setting.
@lru_cache(maxsize=1024)
def choose(
    owners: tuple[Owner, ...], preferred: Owner | None, in_code_fences: InFences, reasoning: Pairs
) -> OpenerSets:
    """Return the tables of openers; `reasoning` are pairs beside those that the owners have.

    The preferred owner opens everything that it would open if it were read alone.
    """
    # Decision table, by `in_code_fences`:
    #   True      a fence quotes nothing: both tables hold the dialects. `inside` is bound before
    #             the rows that only exist outside are added, and is the same list: with True,
    #             neither of them is added.
    #   False     a fence quotes everything: inside, only `everywhere` is asked.
    #   "whole"   as False, but `FencedCalls` is asked at the opening line of a fence. It stands
    #             before `CodeFences`, which owns the same marker and never refuses.
    # Fences are tracked if they quote, or if a dialect must know that it stands in one.
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
    return OpenerSets(outside, inside, thoughts.opened())


class _Thoughts:
    """The readers of reasoning: one per opening marker, and one for a thought opened by the prompt.

    `reasoning` are pairs of markers that the caller names beside those of the owners.
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
        """Return rows for thoughts that the text opens, and for the end of one opened before it."""
        rows: Rows = []
        for opening in dict.fromkeys(opening for opening, _ in self._pairs):
            pairs = tuple(pair for pair in self._pairs if pair[0] == opening)
            given = any(pair in self._given for pair in pairs)
            sure = self._preferred is not None and pairs[0] in self._preferred.reasoning
            # `<think>` is markup and opens a thought anywhere. An opening of words, such as "Here
            # is my thought process:", may begin any answer: it counts only if the caller named it,
            # or if the preferred dialect has it. Where the model is only guessed, a thought must
            # be the first thing in the text.
            if given or sure or _is_markup(opening):
                only_first = not given and not (sure and _is_markup(opening))
                rows.append((self._thinking(pairs, only_first=only_first), (opening,)))
        ends = tuple(filter(_is_markup, dict.fromkeys(closing for _, closing in self._pairs)))
        return [*rows, (ThoughtEnd(), ends)] if ends else rows

    def opened(self) -> Thinking | None:
        """Return the reader for a thought that the prompt opened; None if no markers are known."""
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
        """The dialects whose calls may stand in a thought, with their openers.

        A thought may mention calls in many ways. An opener that is unambiguous among all dialects
        makes a call whatever follows. An opener that counts only because its dialect was named
        makes a call only if the thought is never closed, so it is a second entry (`at_once` False).
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
    # Three kinds of tokens: those that are unambiguous for any model (`TURN_ENDS`), those that only
    # count in a text with a call (`unsure`), and closing markers of the preferred dialect without
    # an open call (`strays`). A guessed dialect's closers are not strays: prose may hold them.
    ends = dict.fromkeys(token for owner in owners for token in owner.turn_ends)
    strays = tuple(one for one in (preferred.closers if preferred else ()) if one not in ends)
    known = (*ends, *strays)
    sure = (*TURN_ENDS, *(preferred.turn_ends if preferred else ()))
    unsure = tuple(token for token in known if token not in sure)
    return [(TurnEnd(known, unsure, strays), known)] if known else []
