"""What a dialect is: one way of writing tool calls as text.

A dialect reads (a generator over a block), writes (calls, results and prose as text),
teaches (a prompt section for a model) and constrains (a grammar for a model's decoder).
It has no state: one instance serves every parser.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import ClassVar

from callblocks.model.calls import Call, Item, Result, Thought
from callblocks.model.errors import BadSpec, UnknownTool, Unsupported, Unwritable
from callblocks.model.specs import SpecBook, ToolSpec, ToolSpecs, specs_by_name
from callblocks.parsing.block import Block, Refused
from callblocks.parsing.engine import Engine, Owner, Setting
from callblocks.parsing.fallbacks import ForeignBodies, Respelled, Sibling
from callblocks.parsing.grammar import Calls, Grammar, Kind
from callblocks.parsing.limits import Limits
from callblocks.parsing.markers import Shape
from callblocks.parsing.parsed import Parsed
from callblocks.parsing.readback import difference, joined
from callblocks.parsing.shapes.foreign_body import Bodies
from callblocks.parsing.spelling import Spellings, respell
from callblocks.parsing.stage import Reading
from callblocks.parsing.teaching import compact_prompt, example_items, prompt
from callblocks.parsing.thinking import Pairs
from callblocks.parsing.turn_end import TURN_ENDS

__all__ = ("Dialect", "with_fallbacks")

NO_LIMITS = Limits(depth=10**9, input_size=10**12, calls=10**9)


class Dialect(ABC):
    """One way of writing tool calls."""

    name: ClassVar[str]
    # One line for a table.
    summary: ClassVar[str]
    # The form, for people.
    syntax: ClassVar[str]
    # What a model must know beside the example; a dialect without rules is not taught.
    rules: ClassVar[tuple[str, ...]] = ()
    # The codes of this dialect's own problems, and what each means.
    codes: ClassVar[Mapping[str, str]] = {}
    follows_fences: ClassVar[bool] = False
    # Whether its calls may be the whole body of a code fence.
    in_fence_bodies: ClassVar[bool] = True
    # Whether it writes an id with each call: the call's own, or what `said` makes of it.
    keeps_ids: ClassVar[bool] = True
    # Whether prose can stand between calls.
    keeps_order: ClassVar[bool] = True
    # Whether a value has its type from the tool's schema alone: without one it is a string.
    values_are_text: ClassVar[bool] = False
    # Whether only tools that are known can be called: their names are its tags.
    needs_tools: ClassVar[bool] = False
    in_auto: ClassVar[bool] = True
    # The markers around what the models of this dialect think, such as `<think>`, `</think>`.
    reasoning: ClassVar[Pairs] = ()
    # Whether a complete call of a declared tool is a call in a thought that is closed, too.
    calls_end_reasoning: ClassVar[bool] = False
    # The markers that begin another message, and so end a thought that was not closed.
    reasoning_breaks: ClassVar[tuple[str, ...]] = ()
    # The tokens that end a turn of its models, and show nothing at the end of a text.
    turn_ends: ClassVar[tuple[str, ...]] = TURN_ENDS

    # The tags in which its models know a result in their prompt, such as `<tool_response>`.
    result_tags: ClassVar[tuple[str, str] | None] = None

    # What its models write behind calls beside the markers that close them.
    other_closers: ClassVar[tuple[str, ...]] = ()

    @property
    def closers(self) -> tuple[str, ...]:
        """The markers that close its calls, and mean nothing where none is open."""
        return self.other_closers

    # The attributes that hold its markers, each a text or a row of spellings.
    markers: ClassVar[tuple[str, ...]] = ()
    # The dialects whose spelling a parser of this one reads too; the table of dialects sets it.
    siblings: ClassVar[Iterable[Sibling]] = ()

    @cached_property
    def respelled(self) -> Dialect | None:
        """The same dialect with markers as models misspell them, if they have bars."""
        own: dict[str, Spellings] = {name: getattr(self, name) for name in self.markers}
        others = {name: respell(markers) for name, markers in own.items()}
        if own == others:
            return None
        made = type(self)()
        vars(made).update(others)
        return made

    @cached_property
    def as_sibling(self) -> Sibling:
        """The dialect as the parser of a sibling reads it."""
        return Sibling.of(self)

    @property
    def bodies_between(self) -> Bodies | None:
        """Where another notation may stand between its markers, if anywhere."""
        return None

    @abstractmethod
    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        """The markers that may open a block."""

    @abstractmethod
    def read(self, block: Block) -> Reading[Refused | None]:
        """Read the block that a marker opened, or refuse it."""

    @abstractmethod
    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        """Put items into text; `write` checks that they can be read back.

        A thought comes in its markers, to be put down as it is.
        """

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        """Add the rule `root` of this dialect to a grammar, and what it needs.

        `tools` are those that may be called. The grammar knows how many calls it demands:
        `grammar.text`, `row` and `repeated` write the repetitions.
        """
        raise Unsupported(f"{self.name} has no grammar")

    def early_ends(self, tools: Mapping[str, ToolSpec] | None) -> Sequence[str | Shape]:
        """Return the markers that would end a text argument in which they stand.

        A text that a model may copy into an argument is shown with a sign in each of them. There is
        none where arguments are quoted, as in JSON. Without `tools` their names may be any. Each
        marker begins with a character that is neither blank nor a quotation mark.
        """
        return ()

    def said(self, item: Call | Result, tools: Mapping[str, ToolSpec]) -> Call | Result:
        """What this dialect says of a call or a result, where that is not all of it."""
        return item

    def write(
        self,
        items: Iterable[Item],
        tools: ToolSpecs = (),
        *,
        reasoning: Sequence[tuple[str, str]] = (),
    ) -> str:
        """Write prose, thoughts, calls and results so that reading gives them back.

        What cannot be written so raises `Unwritable`. `reasoning` are pairs of markers that a
        reader is told of, for a dialect that has none of its own.
        """
        known, wanted = specs_by_name(tools), joined(items)
        # A book is read from as it is: it may know tools that are not made yet.
        book = tools if isinstance(tools, SpecBook) else known.values()
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
        """What is read of a text that was written in this dialect."""
        owners = with_fallbacks((self,), is_named=True)
        engine = Engine(owners, tools=tools, reasoning=reasoning, limits=NO_LIMITS)
        return Parsed(engine.feed(text) + engine.close())

    def _marked(self, item: Item, pairs: Pairs) -> Item:
        """A thought between the first of the markers; everything else as it is."""
        if not isinstance(item, Thought):
            return item
        for opening, closing in pairs[:1]:
            marked = Thought(f"{opening}{item}{closing}")
            # Where prose is put into a frame, a writer that knows of no thoughts frames them too.
            if self.compose([marked], {}).endswith(marked):
                return marked
        raise Unwritable(self.name, f"the thought {str(item)!r:.80}: it has no form for one")

    def example(self, tools: ToolSpecs) -> str:
        """A text of this dialect that calls the first of the tools."""
        known = tuple(specs_by_name(tools).values())
        return self.write(example_items(known), known)

    def teach(self, tools: ToolSpecs, *, compact: bool = False) -> str:
        """A prompt section that tells a model how to call these tools.

        With `compact` each tool is one line: a signature instead of a list of its parameters.
        """
        if not self.rules:
            raise Unsupported(f"{self.name} has no prompt: it is not for models to write")
        known = tuple(specs_by_name(tools).values())
        form = compact_prompt if compact else prompt
        return form(self.rules, known, self.example(known))

    def grammar(
        self, tools: ToolSpecs, kind: Kind, *, calls: Calls | None = None, tool: str | None = None
    ) -> str:
        """Print a grammar that holds a model to this dialect and these tools.

        `calls` demands at least one call (`required`) or exactly one (`one`); `any` demands none.
        `tool` names the one tool that may be called, and without `calls` demands a call of it.
        """
        known = specs_by_name(tools)
        if not known:
            raise BadSpec("a grammar needs at least one tool")
        if tool is not None and tool not in known:
            raise UnknownTool(tool, known)
        every = tuple(known.values())
        demanded = calls or ("any" if tool is None else "required")
        grammar = Grammar(demanded, every)
        self.constrain(grammar, every if tool is None else (known[tool],))
        if demanded != "any" and not grammar.counts_calls:
            raise Unsupported(f"{self.name} has no grammar that demands calls")
        return grammar.to(kind)


@cache
def with_fallbacks(named: tuple[Dialect, ...], *, is_named: bool) -> tuple[Owner, ...]:
    """Return dialects with who is asked where all of them refuse a block.

    Where dialects are guessed instead of named, all siblings are among them.
    """
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
        *(ForeignBodies.of(name, one, is_named=is_named) for name, one in bodies if one),
    )
