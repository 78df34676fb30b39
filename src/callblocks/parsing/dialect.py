"""The base class of dialects. A dialect is one way of writing tool calls as text.

A dialect reads (a generator over a block), writes (calls, results and prose as text), teaches (a
prompt section for a model) and constrains (a grammar for a model's decoder). It has no state: one
instance serves every parser.

`write` guarantees the round trip: it reads its own text back and compares. A subclass therefore
implements `compose` without escaping rules of its own for hostile values; a value that does not
survive raises `Unwritable`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import groupby
from typing import Any, ClassVar

from callblocks.core.calls import Call, Item, Result, Thought
from callblocks.core.errors import BadSpec, CallerError, UnknownTool, Unsupported, Unwritable
from callblocks.core.events import (
    CallReady,
    CallResult,
    Event,
    Malformed,
    Problem,
    Reasoning,
    Text,
    join,
)
from callblocks.core.json_values import same
from callblocks.core.specs import SpecBook, ToolSpec, ToolSpecs, specs_by_name
from callblocks.core.text import brief
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Shape, Spellings, respell
from callblocks.parsing.engine.openers import TURN_ENDS
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.engine.reasoning import Pairs
from callblocks.parsing.fallbacks import Doubled, ForeignBodies, Respelled, Sibling
from callblocks.parsing.grammar.grammar import Calls, Grammar, Kind
from callblocks.parsing.limits import Limits
from callblocks.parsing.loop import Engine, Owner, Setting
from callblocks.parsing.readers.foreign_body import Bodies
from callblocks.parsing.teaching import compact_prompt, example_items, prompt

__all__ = (
    "Dialect",
    "Parsed",
    "difference",
    "joined",
    "with_fallbacks",
)

# --- A parsed text: its prose, calls, results and problems beside their events ---


class Parsed:
    """The result of parsing a whole text."""

    def __init__(self, events: list[Event]) -> None:
        self.events = join(events)

    @cached_property
    def text(self) -> str:
        """The prose, without the blocks."""
        return "".join(event.text for event in self.events if isinstance(event, Text))

    @cached_property
    def reasoning(self) -> str:
        """The reasoning of the model, without its markers."""
        return "".join(event.text for event in self.events if isinstance(event, Reasoning))

    @cached_property
    def calls(self) -> list[Call]:
        return [event.call for event in self.events if isinstance(event, CallReady)]

    @cached_property
    def results(self) -> list[Result]:
        return [event.result for event in self.events if isinstance(event, CallResult)]

    @cached_property
    def problems(self) -> list[Malformed | Problem]:
        """The malformed blocks and the problems, in the order of the text."""
        return [event for event in self.events if isinstance(event, Malformed | Problem)]

    @cached_property
    def items(self) -> list[Item]:
        """The items that a dialect can write; malformed text is prose, reasoning a `Thought`."""
        found: list[Item] = []
        for event in self.events:
            match event:
                case Text(text=text) | Malformed(text=text):
                    found.append(text)
                case Reasoning(text=text):
                    found.append(Thought(text))
                case CallReady(call=call):
                    found.append(call)
                case CallResult(result=result):
                    found.append(result)
                case _:
                    pass
        return found

    def __repr__(self) -> str:
        return (
            f"Parsed(text={self.text!r:.60}, calls={len(self.calls)}, "
            f"results={len(self.results)}, problems={len(self.problems)})"
        )


# --- Comparison of written items with the parsed text (law: write, then read) ---


def joined(items: Iterable[Item]) -> list[Item]:
    """Join adjacent prose and thoughts, drop empty ones, and raise for a value that is no item."""
    out: list[Item] = []
    for kind, group in groupby(items, key=_kind):
        members = list(group)
        for member in members:
            if not isinstance(member, str | Call | Result):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
                raise CallerError(f"an item is a str, a Call or a Result, not {brief(member)}")
        if kind is None:
            out += members
        elif text := "".join(map(str, members)):
            out.append(kind(text))
    return out


def _kind(item: Item) -> type[str] | None:
    """Return the class by which prose and thoughts are joined; None for other items."""
    if isinstance(item, Thought):
        return Thought
    return str if isinstance(item, str) else None


def difference(
    wanted: Sequence[Item], read: Parsed, *, by_id: bool, in_order: bool, untyped: bool = False
) -> str:
    """Describe the first item that does not read back, or return `""` if all do.

    Without `by_id` a result belongs to the call at the same place, whatever their ids. Without
    `in_order` it does not matter between which calls prose stands. `untyped`: values are read as
    text because no declared tool gives them a type.
    """
    # Calls, results and prose are compared apart, in that order: a lost call also changes the
    # prose, and "it would not be read as a call" is the better message.
    calls = [item for item in wanted if isinstance(item, Call)]
    results = [item for item in wanted if isinstance(item, Result)]
    return (
        _calls_differ(calls, read.calls, by_id, untyped)
        or _results_differ(results, calls, read, by_id)
        or _prose_differs(wanted, read, in_order)
    )


def _calls_differ(calls: Sequence[Call], given: Sequence[Call], by_id: bool, untyped: bool) -> str:
    for call, other in zip(calls, given, strict=False):
        if call.ended != other.ended:
            return f"the call {call.id!r} of {call.name!r}, which did not end"
        if not same(_essence(call, by_id), _essence(other, by_id)):
            return f"the call {call.id!r} of {call.name!r}: {_change(call, other, untyped)}"
    if len(given) > len(calls):
        return f"prose that reads as a call: {_brief(given[len(calls)])}"
    if len(given) < len(calls):
        missing = calls[len(given)]
        return f"the call {missing.id!r} of {missing.name!r}: it would not be read as a call"
    return ""


def _change(call: Call, other: Call, untyped: bool) -> str:
    """Describe how a call would be read instead."""
    if call.name != other.name or not same(call.input, other.input):
        hint = "; `tools` would give values their types" if untyped else ""
        return f"it would be read as {_brief(other)}{hint}"
    lost = [
        key
        for key in call.extra
        if key not in other.extra or not same(call.extra[key], other.extra[key])
    ]
    if lost:
        return f"it would be read without its {', '.join(map(repr, lost))}"
    new = [repr(key) for key in other.extra if key not in call.extra]
    return f"it would be read with {', '.join(new)}" if new else f"its id would be {other.id!r}"


def _results_differ(
    results: Sequence[Result], calls: Sequence[Call], read: Parsed, by_id: bool
) -> str:
    known = {call.id for call in calls}
    for result in results:
        if result.id not in known:
            return f"the result of {result.id!r}, whose call is not here"
    wanted = _outcomes(results, calls, by_id)
    given = _outcomes(read.results, read.calls, by_id)
    if same(wanted, given):
        return ""
    return f"these results: {brief(wanted, 200)} would be read as {brief(given, 200)}"


def _prose_differs(wanted: Sequence[Item], read: Parsed, in_order: bool) -> str:
    given = [item for event in read.events if (item := _item(event)) is not None]
    for kind, word in ((str, "prose"), (Thought, "thought")):
        pairs = zip(_said(wanted, kind, in_order), _said(given, kind, in_order), strict=True)
        for said, other in pairs:
            if said != other:
                return f"the {word} {said!r:.80}: it would be read as {other!r:.80}"
    return ""


def _item(event: Event) -> Item | None:
    """Return the item of an event; None for results and malformed text."""
    match event:
        case Text(text=text):
            return text
        case Reasoning(text=text):
            return Thought(text)
        case CallReady(call=call):
            return call
        case _:
            return None


def _said(items: Sequence[Item], kind: type[str], in_order: bool) -> list[str]:
    """Return the prose (or the thoughts) before, between and behind the calls, or all as one."""
    stretches = [""]
    for item in items:
        if _kind(item) is kind:
            stretches[-1] += str(item)
        elif isinstance(item, Call) and in_order:
            stretches.append("")
    return stretches


def _essence(call: Call, by_id: bool) -> dict[str, Any]:
    essence = {
        "name": call.name,
        "input": call.input,
        "extra": call.extra,
    }
    return essence | {"id": call.id} if by_id else essence


def _outcomes(results: Sequence[Result], calls: Sequence[Call], by_id: bool) -> list[list[Any]]:
    """Return the results in the order of their calls, each with the place of its call."""
    places = {call.id: place for place, call in enumerate(calls)}
    outcomes = [
        [places.get(result.id, -1), result.output, result.error, result.id if by_id else ""]
        for result in results
    ]
    return sorted(outcomes, key=lambda outcome: outcome[0])


def _brief(call: Call) -> str:
    return f"{call.name}({brief(call.input)})"


# --- The base class of dialects. A dialect is one way of writing tool calls as text ---

# `write` verifies its own text, which is not hostile: a caller's limits must not make it fail.
NO_LIMITS = Limits(depth=10**9, input_size=10**12, calls=10**9)


class Dialect(ABC):
    """One way of writing tool calls."""

    name: ClassVar[str]
    # One line for a table.
    summary: ClassVar[str]
    # The syntax of a call, for people.
    syntax: ClassVar[str]
    # The rules that a prompt states beside the example; a dialect without rules is not taught.
    rules: ClassVar[tuple[str, ...]] = ()
    # The codes of this dialect's own problems, each with its meaning.
    codes: ClassVar[Mapping[str, str]] = {}
    follows_fences: ClassVar[bool] = False
    # True if its calls may be the whole body of a code fence.
    in_fence_bodies: ClassVar[bool] = True
    # True if it writes an id with each call: the call's own, or the one that `said` makes of it.
    keeps_ids: ClassVar[bool] = True
    # True if prose can stand between calls.
    keeps_order: ClassVar[bool] = True
    # True if only the tool's schema gives a value its type; without a schema it is a string.
    values_are_text: ClassVar[bool] = False
    # True if only declared tools can be called, because their names are its tags.
    needs_tools: ClassVar[bool] = False
    in_auto: ClassVar[bool] = True
    # The pairs of markers around the reasoning of its models, such as `<think>`, `</think>`.
    reasoning: ClassVar[Pairs] = ()
    # True if a complete call of a declared tool counts inside of a closed thought, too.
    calls_end_reasoning: ClassVar[bool] = False
    # The markers that begin another message, and thereby end a thought that was not closed.
    reasoning_breaks: ClassVar[tuple[str, ...]] = ()
    # The tokens that end a turn of its models, and show nothing at the end of a text.
    turn_ends: ClassVar[tuple[str, ...]] = TURN_ENDS

    # The tags around a result in the prompts of its models, such as `<tool_response>`.
    result_tags: ClassVar[tuple[str, str] | None] = None

    # Markers that its models write behind a call in addition to the one that closes it.
    other_closers: ClassVar[tuple[str, ...]] = ()

    @property
    def closers(self) -> tuple[str, ...]:
        """The markers that close its calls; without an open call they carry no meaning."""
        return self.other_closers

    # The names of the attributes that hold its markers, each a text or a tuple of spellings.
    markers: ClassVar[tuple[str, ...]] = ()
    # The dialects that a parser of this one reads as a fallback; the table of dialects sets it.
    siblings: ClassVar[Iterable[Sibling]] = ()

    @cached_property
    def respelled(self) -> Dialect | None:
        """The same dialect with misspelt markers; None if no marker has bars to misspell."""
        own: dict[str, Spellings] = {name: getattr(self, name) for name in self.markers}
        others = {name: respell(markers) for name, markers in own.items()}
        if own == others:
            return None
        made = type(self)()
        vars(made).update(others)
        return made

    @cached_property
    def as_sibling(self) -> Sibling:
        """The dialect as a fallback in the parser of a sibling."""
        return Sibling.of(self)

    @property
    def bodies_between(self) -> Bodies | None:
        """The places between its markers where another notation is read; None if there are none."""
        return None

    @abstractmethod
    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """Return the markers that may open a block."""

    @abstractmethod
    def read(self, block: Block) -> Reading[Refused | None]:
        """Read the block that a marker opened, or refuse it."""

    @abstractmethod
    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        """Return the items as text; `write` checks that they can be read back.

        A `Thought` is passed with its markers and is written unchanged.
        """

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        """Add the rule `root` of this dialect to a grammar, and what it needs.

        `tools` are those that may be called. The grammar knows how many calls it demands:
        `grammar.text`, `row` and `repeated` write the repetitions.
        """
        raise Unsupported(f"{self.name} has no grammar")

    def early_ends(self, tools: Mapping[str, ToolSpec] | None) -> Sequence[str | Shape]:
        """Return the markers that would end a text argument that contains them.

        A text that a model may copy into an argument is shown with an escape sign in each of them.
        Dialects with quoted arguments, as in JSON, have none. Without `tools`, tags of any name
        count. Each marker begins with a character that is neither blank nor a quotation mark.
        """
        return ()

    def said(self, item: Call | Result, tools: Mapping[str, ToolSpec]) -> Call | Result:
        """Return the part of a call or a result that this dialect can represent."""
        return item

    def write(
        self,
        items: Iterable[Item],
        tools: ToolSpecs = (),
        *,
        reasoning: Sequence[tuple[str, str]] = (),
    ) -> str:
        """Write prose, thoughts, calls and results as text that reads back as the same items.

        Items that do not survive the round trip raise `Unwritable`. `reasoning` are pairs of
        markers for a dialect that has none of its own; the reader must be given the same pairs.
        """
        known, wanted = specs_by_name(tools), joined(items)
        # A `SpecBook` is passed on as it is: it makes specs lazily, and `known` has only those that
        # exist already. It is asked for last, since `isinstance` with a protocol is slow.
        book: ToolSpecs
        if not isinstance(tools, tuple | list) and isinstance(tools, SpecBook):
            book = tools
        else:
            book = tuple(known.values())
        pairs = (*self.reasoning, *reasoning)
        try:
            text = self.compose([self._marked(item, pairs) for item in wanted], known)
            read = self.parsed(text, book, reasoning)
            said = [item if isinstance(item, str) else self.said(item, known) for item in wanted]
            what = difference(
                said,
                read,
                by_id=self.keeps_ids,
                in_order=self.keeps_order,
                untyped=self.values_are_text and not known,
            )
        except RecursionError as error:
            raise Unwritable(self.name, "a value that is nested too deep") from error
        if what:
            raise Unwritable(self.name, what)
        return text

    def parsed(
        self, text: str, tools: ToolSpecs = (), reasoning: Sequence[tuple[str, str]] = ()
    ) -> Parsed:
        """Parse a text that was written in this dialect."""
        owners = with_fallbacks((self,), is_named=True)
        engine = Engine(owners, tools=tools, reasoning=reasoning, limits=NO_LIMITS)
        return Parsed(engine.feed(text) + engine.close())

    def _marked(self, item: Item, pairs: Pairs) -> Item:
        """Return a thought between the first pair of markers, and every other item unchanged."""
        if not isinstance(item, Thought):
            return item
        for opening, closing in pairs[:1]:
            marked = Thought(f"{opening}{item}{closing}")
            # A dialect that frames prose (channels) may frame a thought as prose, too. Then the
            # composed text does not end with it, and the dialect has no form for thoughts.
            if self.compose([marked], {}).endswith(marked):
                return marked
        raise Unwritable(self.name, f"the thought {str(item)!r:.80}: it has no form for one")

    def example(self, tools: ToolSpecs) -> str:
        """Return a text of this dialect that calls the first of the tools."""
        known = tuple(specs_by_name(tools).values())
        return self.write(example_items(known), known)

    def teach(self, tools: ToolSpecs, *, compact: bool = False) -> str:
        """Return a prompt section that tells a model how to call these tools.

        With `compact` each tool is one line: a signature instead of a list of its parameters.
        """
        if not self.rules:
            raise Unsupported(f"{self.name} has no prompt: it is not for models to write")
        known = tuple(specs_by_name(tools).values())
        form = compact_prompt if compact else prompt
        return form(self.rules, known, self.example(known))

    def grammar(
        self,
        tools: ToolSpecs,
        kind: Kind,
        *,
        calls: Calls | None = None,
        tool: str | None = None,
        prose: bool = True,
    ) -> str:
        """Return a grammar that constrains a model to this dialect and these tools.

        `calls` demands at least one call (`required`) or exactly one (`one`); `any` demands none.
        `tool` names the one tool that may be called, and without `calls` demands a call of it.
        `prose` says whether prose may stand around the calls.
        """
        known = specs_by_name(tools)
        if not known:
            raise BadSpec("a grammar needs at least one tool")
        if tool is not None and tool not in known:
            raise UnknownTool(tool, known)
        every = tuple(known.values())
        demanded = calls or ("any" if tool is None else "required")
        grammar = Grammar(demanded, every, prose=prose)
        self.constrain(grammar, every if tool is None else (known[tool],))
        if demanded != "any" and not grammar.counts_calls:
            raise Unsupported(f"{self.name} has no grammar that demands calls")
        return grammar.to(kind)


@cache
def with_fallbacks(named: tuple[Dialect, ...], *, is_named: bool) -> tuple[Owner, ...]:
    """Return the dialects and their fallbacks, which are asked where all dialects refuse a block.

    Siblings are fallbacks only where dialects are named; `auto` reads all of them anyway.
    """
    # Order matters: the first reader that accepts owns the block. A literal reading by any dialect
    # comes before a misspelt one, and a foreign body between known markers is the last resort.
    names = {one.name for one in named}
    every = dict.fromkeys(sibling for one in named for sibling in one.siblings if is_named)
    siblings = [one for one in every if one.name not in names]
    respelled = [one.respelled for one in named]
    others = [one.dialect.respelled for one in siblings if isinstance(one.dialect, Dialect)]
    bodies = [(one.name, one.bodies_between) for one in named]
    return (
        *named,
        *siblings,
        *(Respelled.of(one, is_named=is_named) for one in respelled if one),
        *(Sibling.of(Respelled.of(one, is_named=False)) for one in others if one),
        *(Doubled.of(one) for one in named if is_named),
        *(ForeignBodies.of(name, one, is_named=is_named) for name, one in bodies if one),
    )
