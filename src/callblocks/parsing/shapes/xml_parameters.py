"""Calls whose arguments stand in tags, each value as text::

    <tool_call>
    <function=NAME>
    <parameter=KEY>
    VALUE
    </parameter>
    </function>
    </tool_call>

A dialect gives the tags to read (`tags`) and the form to write (`form`). It may override how a name
is read from its tag, and which type a value has. `XmlReader` reads a block, `XmlCall` one call in
it.

Values are raw text: nothing is escaped, so a value may contain the dialect's own tags. A closing
tag counts only if the tag behind it confirms it (see `xml_call`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, ClassVar

from callblocks.core.calls import Call, Item, Result
from callblocks.core.errors import Unwritable
from callblocks.core.specs import ToolSpec
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Shape, without_line_ends
from callblocks.parsing.engine.openers import lone_markers
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.argument_rules import json_rule
from callblocks.parsing.grammar.expressions import (
    EMPTY,
    Expr,
    alt,
    chars,
    lit,
    many,
    opt,
    seq,
    until,
)
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.grammar.json_rules import strings_without
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.announce import BadBody
from callblocks.parsing.readers.foreign_body import Bodies
from callblocks.parsing.readers.tags import (
    TYPES,
    Tag,
    XmlForm,
    XmlTags,
    as_text,
    attributes,
    begun,
    tag_start,
)
from callblocks.parsing.shapes.elements import joined, repeated_items
from callblocks.parsing.shapes.xml_call import ReadsBodies, XmlCall
from callblocks.parsing.values.schema_shape import Plain, Schemas, in_schema_order
from callblocks.parsing.values.typed import (
    Typed,
    plain_values,
    problems_of,
    schema_of,
    type_name,
    typed,
    typed_argument,
    types_of,
)

__all__ = (
    "XmlParameters",
    "XmlReader",
    "argument_rule",
    "arguments_rule",
    "xml_rules",
)

# --- The reader of one block of calls in tags: a wrapper, and the calls in it ---
#
# If a closing tag is missing, the next tag closes what is open, and the call gets a problem; with
# `strict` such a call is malformed. Each call is read by an `XmlCall`; this class decides where one
# call ends and the next begins.


_REPAIRS = ("missing-closer", "stray-text", "foreign-body", "misspelt-tag")


class XmlReader:
    """A reader of one block."""

    def __init__(self, shape: XmlParameters, block: Block) -> None:
        self._shape, self._block, self._tags = shape, block, shape.tags
        self._wrapped = self._tags.wrapper.is_in(block.opening.lstrip())
        self._call = shape.reading(block, in_wrapper=self._wrapped)
        self._first_part = 0
        self._begin = block.start

    def read(self) -> Reading[Refused | None]:
        """Read all calls of the block."""
        block, opening = self._block, self._block.opening
        if self._wrapped:
            self._call.note_spelling(self._tags.wrapper, opening)
            opening = yield from block.match(self._tags.first)
            if not opening:
                return (yield from self._read_no_call())
        elif self._tags.has_wrapper and block.stage.strict:
            return block.refuse(expected="the tag that wraps calls", at=block.start)
        elif self._tags.has_wrapper:
            self._call.repair("missing-wrapper", f"{opening!r:.60} stands outside of its wrapper")
        refused: Refused | None = None
        while opening and not refused:
            opening, refused = yield from self._read_call(opening)
        return refused

    def _read_no_call(self) -> Reading[Refused | None]:
        block = self._block
        if (yield from block.match(self._tags.wrapper_ends)):
            return block.malformed("empty-calls", "there is no call in it")
        if block.rest.strip() and block.ends_within(self._tags.first):
            return block.malformed("truncated-call", "the text ended inside a tag")
        return block.refuse()

    def _read_call(self, opening: str) -> Reading[tuple[str, Refused | None]]:
        """Read a call whose opening tag was consumed; return the next one's tag, or a refusal."""
        block, stop, bare = self._block, self._block.offset, self._tags.bare(opening)
        self._call.note_spelling(self._tags.call, bare)
        name = self._shape.name_in(bare)
        if not name or not self._shape.is_tool(name, block.stage.tools):
            return "", self._give_up(stop - len(opening), "the name of a tool")
        if self._shape.is_whole(opening):
            if self._shape.form.head[0].endswith("="):
                # `<function=ls/>` is no part of the grammar; `<invoke name="ls"/>` is XML.
                self._call.repair("misspelt-tag", f"{bare!r:.80} stands for an empty call")
            tag = "" if self._call.read_whole(name, stop) else None
        else:
            tag = yield from self._call.read(name, stop)
        if tag is None:
            lacks = "a tag with what the tool requires" * self._shape.is_whole(opening)
            return "", self._give_up(stop - len(opening), lacks)
        if not self._first_part:
            self._begin = block.start
        return (yield from self._close(tag, stop)), None

    def _give_up(self, start: int, expected: str = "") -> Refused | None:
        """Give up on a call: the first one refuses the block, a later one ends it before itself."""
        block = self._block
        if block.start == self._begin:
            return block.refuse(self._call.dead, expected=expected, at=start)
        block.give_back(start)
        return None

    def _close(self, tag: str, start: int) -> Reading[str]:
        """Emit the call; return the opening tag of the next one, if that was consumed already."""
        # `tag` ended the arguments. Five cases: the end of the call; the start of the next call
        # (the end is missing); a tag of an outer frame (missing, and the tag is returned); the end
        # of the wrapper (missing); the end of the text. The call is emitted only after the wrapper
        # end was looked for, because the last call owns it.
        block, tags, call, bare = self._block, self._tags, self._call, tag.lstrip()
        follows = call.follows
        if call.end.is_in(bare):
            call.note_spelling(call.end, bare)
        elif tags.call.is_in(tags.bare(tag)):
            follows = tag
            call.missing(call.end)
        elif tags.outer.is_in(bare):
            call.missing(call.end)
            block.give_back(block.offset - len(tag))
            follows = follows or ""
        elif tags.wrapper_end.is_in(bare):
            call.missing(call.end)
            call.note_spelling(tags.wrapper_end, bare)
            follows = follows or ""
        if follows is None and not call.over:
            follows = yield from self._read_wrapper_end()
        elif self._wrapped and not follows and not call.over and call.end.is_in(bare):
            call.missing(tags.wrapper_end)
        opening = follows if follows and tags.call.is_in(tags.bare(follows)) else ""
        stop = block.offset - len(opening)
        self._say(start, stop)
        self._first_part, self._begin = len(block.taken) - 1, stop
        self._call = self._shape.reading(block, in_wrapper=self._wrapped)
        return opening

    def _read_wrapper_end(self) -> Reading[str]:
        """Read the tag behind the end of a call: the end of the wrapper, or another call in it."""
        block, tags = self._block, self._tags
        if not tags.has_wrapper:
            return ""
        follows = yield from block.match(tags.after_call)
        if self._wrapped and not follows and not block.stage.strict:
            follows = yield from self._read_stray()
        if tags.wrapper_end.is_in(follows.lstrip()):
            self._call.note_spelling(tags.wrapper_end, follows.lstrip())
            return ""
        if self._wrapped and not follows:
            block.ends_within(tags.after_call)
            self._call.missing(tags.wrapper_end)
        return follows

    def _read_stray(self) -> Reading[str]:
        """Consume a few stray words behind a call in its wrapper, and the tag behind them."""
        found = yield from self._block.match(self._tags.after_stray)
        stray, bracket, tag = found.partition("<")
        if found:
            self._call.repair("stray-text", f"{stray.strip()!r:.60}")
        return bracket + tag

    def _say(self, start: int, stop: int) -> None:
        block, call = self._block, self._call
        text = "".join(block.taken[self._first_part :])[: stop - self._begin]
        if call.inside:
            return block.malformed("truncated-call", "the text ended inside a value", stop, text)
        if call.over:
            call.missing(call.end)
        try:
            value, problems = call.value(block.stage.tools.get(block.name))
        except BadBody as bad:
            code = "truncated-call" if call.over else bad.code
            return block.malformed(code, bad.detail, stop, text)
        swallowed = call.swallowed()
        if swallowed:
            # Either the value quotes that call, or its closing tag is missing. Both are possible,
            # so the call is not marked as ended.
            detail = f"a value holds the beginning of a call of {swallowed}"
            problems = [*problems, ("missing-closer", detail)]
        found = [*call.repairs, *problems]
        repairs = [one for one in problems if one[0].startswith("repaired-") or one[0] in _REPAIRS]
        if block.stage.strict and (call.repairs or repairs):
            return block.malformed(*(*call.repairs, *repairs)[0], stop, text)
        ended = call.sure and not (call.over or call.may_go_on or swallowed)
        block.ready(value, size=stop - start, ended=ended, end=stop, text=text)
        for code, detail in found:
            block.problem(code, detail)
        return None


# --- The grammar of a dialect of tags: prose without opening tags, and calls of known tools ---


def xml_rules(grammar: Grammar, shape: XmlParameters, tools: Sequence[ToolSpec]) -> None:
    """Add the rule `root`."""
    form = shape.form
    ends = (shape.value_end_of(key).strip() for tool in tools for key in tool.properties)
    if markers := [*dict.fromkeys(ends)]:
        strings_without(grammar, markers)
    number = seq(lit(form.number), many(chars("0-9"), least=1)) if form.number else EMPTY
    calls = [
        seq(
            lit(shape.head_of(tool.name)),
            number,
            lit(form.head[1]),
            arguments_rule(grammar, shape, tool),
            lit(shape.tail_of(tool.name)),
        )
        for tool in tools
    ]
    call = grammar.rule("call", alt(*calls))
    row = grammar.row(call) if form.shared else call
    block = grammar.rule("block", seq(lit(form.wrapper[0]), row, lit(form.wrapper[1])))
    grammar.text(shape.openings(grammar.known or tools), block)


def arguments_rule(grammar: Grammar, shape: XmlParameters, tool: ToolSpec) -> Expr:
    """Return a rule for the arguments of a tool in their order; optional ones may be missing."""
    parts: list[Expr] = []
    for key in tool.properties:
        argument = argument_rule(grammar, shape, tool, key)
        parts.append(argument if key in tool.required else opt(argument))
    return seq(*parts)


def argument_rule(grammar: Grammar, shape: XmlParameters, tool: ToolSpec, key: str) -> Expr:
    """Return a rule for an argument: text if the schema allows a string, else JSON."""
    form, written = shape.form, shape.written_name(key)
    plain = Schemas(tool.parameters).plain(schema_of(tool, key)) or [{}]
    ways = [(one, kind) for one in plain for kind in sorted(types_of(one)) or TYPES]
    if not form.marks and any(kind == "string" for _, kind in ways):
        # Without a type in the tag, a number and its text look the same: a schema that allows a
        # string then allows any text.
        ways = [(one, kind) for one, kind in ways if kind == "string"]
    if shape.nests:
        # Nested tags are constrained like text: only up to the closing tag of the argument.
        ways = [(one, "string" if kind in ("array", "object") else kind) for one, kind in ways]
    label = f"{tool.name}-{key}"
    return alt(
        *(
            seq(
                lit(form.opening(written, kind)),
                _value(grammar, shape.value_end_of(key), one, kind, label, tool.parameters),
            )
            for one, kind in ways
        )
    )


def _value(
    grammar: Grammar, end: str, plain: Plain, kind: str, label: str, document: object
) -> Expr:
    """Return a rule for a value of one type, and the tag that ends it."""
    choices = [plain["const"]] if "const" in plain else plain.get("enum") or ()
    chosen = [value for value in choices if type_name(value) == kind]
    if kind == "string" and chosen:
        return seq(alt(*(lit(word) for word in chosen)), lit(end))
    if kind == "string":
        return seq(grammar.once(f"text{end}", lambda: _text(end)), lit(end[len(end.rstrip()) :]))
    schema = {"enum": chosen} if chosen else {**plain, "type": kind}
    return seq(json_rule(grammar, schema, label, document), lit(end))


def _text(end: str) -> Expr:
    """Return a rule for any text up to the tag; a newline before the tag is part of it."""
    whole, tag = end.rstrip(), end.strip()
    return until([whole], [tag] if tag != whole else [])


# --- Calls whose arguments stand in tags, each value as text ---

_NAMED = re.compile(r"<[^\s=<>]+=\s*(.*?)\s*(?:/?>|\n|\Z)", re.DOTALL)
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
# Names of an argument in which models put all arguments as one JSON object.
_WRAPPERS = ("arguments", "input", "parameters", "properties")
_QUOTES = "\"'“”‘’"


class XmlParameters(Dialect):
    """A dialect of this shape."""

    tags: XmlTags
    form: ClassVar[XmlForm]
    # True if one line end on each side of a value belongs to its tags.
    trims: ClassVar[bool] = False
    # True if a value may stand in `<![CDATA[…]]>`, in which tags are text.
    cdata: ClassVar[bool] = False
    # True if lists and objects stand in nested tags, not in JSON.
    nests: ClassVar[bool] = False
    # True if other dialects have the same call tags: only the wrapper then tells this one.
    shares_calls: ClassVar[bool] = False
    # True if a call tag outside of a wrapper, with JSON behind it, is another dialect's.
    leaves_json: ClassVar[bool] = False
    keeps_ids = False
    values_are_text = True

    @property
    def closers(self) -> tuple[str, ...]:
        tags = (self.tags.argument_end, self.tags.call_end, self.tags.wrapper_end)
        return lone_markers(*(tag.name for tag in tags), *self.other_closers)

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        if self.shares_calls and not setting.alone:
            return self.tags.wrapper.shapes
        return self.tags.openers

    @property
    def bodies_between(self) -> Bodies | None:
        closing = (begun(shape) for shape in self.tags.wrapper_end.exact)
        if not self.tags.has_wrapper:
            return None
        return Bodies(self.tags.wrapper.exact, tuple(closing), notation="tags")

    def read(self, block: Block) -> Reading[Refused | None]:
        return XmlReader(self, block).read()

    def reading(self, block: Block, *, in_wrapper: bool = False) -> XmlCall:
        """Return a reader for one call of a block."""
        return XmlCall(self, block, in_wrapper=in_wrapper)

    def name_in(self, opening: str) -> str:
        """Return the tool's name in the tag that opens a call, or `""`."""
        return _name(opening)

    def key_in(self, opening: str) -> str:
        """Return the name of an argument in its opening tag."""
        return _name(opening)

    def is_tool(self, name: str, tools: Mapping[str, ToolSpec]) -> bool:
        """Return whether a tag with this name opens a call."""
        return True

    def end_of(self, name: str) -> Tag:
        """Return the tag that ends a call of this tool."""
        return self.tags.call_end

    def bodies(self) -> ReadsBodies | None:
        """Return the reader of a call's body, if that is no row of arguments; else None."""
        return None

    def is_whole(self, opening: str) -> bool:
        """Return whether the tag that opens a call also ends it."""
        return opening.endswith("/>")

    def typed_value(self, opening: str, text: str, tool: ToolSpec | None, key: str) -> Typed:
        """Return an argument's text as a value, by its tag and the tool's schema."""
        return typed_argument(text, tool, key)

    def typed_arguments(
        self, written: Mapping[str, Sequence[tuple[str, str]]], tool: ToolSpec | None
    ) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Return the input of a call and its problems; `written` has each text with its tag."""
        if tool and len(written) == 1 and (inner := _unwrapped(written, tool)) is not None:
            return inner, [("repaired-wrapping", f"all arguments stand in {next(iter(written))!r}")]
        values = {key: self.typed_values(given, tool, key) for key, given in written.items()}
        return plain_values(values), problems_of(values)

    def typed_values(
        self, given: Sequence[tuple[str, str]], tool: ToolSpec | None, key: str
    ) -> Typed:
        """Return the value of an argument that was written once or several times."""
        # A repeated argument is a list if the schema allows one. Otherwise equal texts count once,
        # and different ones make the call bad: which one was meant is unknown.
        opening, text = given[0][0], self.bare(given[0][1])
        if len(given) == 1:
            return self.typed_value(opening, text, tool, key)
        texts = [text, *(self.bare(text) for _, text in given[1:])]
        schema, document = schema_of(tool, key), tool.parameters if tool else True
        try:
            items = repeated_items(schema, document, key)
        except BadBody:
            if len(set(texts)) > 1:
                raise
            one = self.typed_value(opening, text, tool, key)
            return joined(one.value, [one], "repaired-keys")
        values = [typed(text, items, document, repair=True) for text in texts]
        return joined([one.value for one in values], values, "repaired-repeats")

    def is_quoted(self, text: str) -> bool:
        """Return whether a value stands in `<![CDATA[…]]>`."""
        return self.cdata and _CDATA.fullmatch(text) is not None

    def bare(self, text: str) -> str:
        """Return a value without the CDATA markers or line ends that its grammar adds."""
        if self.cdata and (inner := _CDATA.fullmatch(text)):
            return inner[1]
        return without_line_ends(text) if self.trims else text

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        names = {item.id: item.name for item in items if isinstance(item, Call)}
        rows = [list(group) for _, group in groupby(items, key=type)]
        results = [[item for item in row if isinstance(item, Result)] for row in rows]
        # Results first: a dialect without a form for them raises here, which is a better message
        # than a later one about the text around them.
        said = [self.results(row, names) if row else "" for row in results]
        for at, row in enumerate(rows):
            calls = [item for item in row if isinstance(item, Call)]
            if calls:
                written = [self._compose_call(*each, tools) for each in enumerate(calls, 1)]
                said[at] = self.form.calls(written, ended=all(call.ended for call in calls))
            elif not results[at]:
                said[at] = "".join(map(str, row))
        return "".join(said)

    def early_ends(self, tools: Mapping[str, ToolSpec] | None) -> Sequence[Shape]:
        # A closing tag ends a value only before one of these (see `XmlCall`).
        tags = self.tags
        return _beginnings(tags.argument, tags.call, tags.call_end, tags.wrapper_end)

    def results(self, results: Sequence[Result], names: Mapping[str, str]) -> str:
        """Return adjacent results as text; `names` are those of their calls."""
        raise Unwritable(self.name, f"results: it has no form for that of {results[0].id!r}")

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        xml_rules(grammar, self, tools)

    def written_name(self, name: str) -> str:
        """Return a name as it stands in a tag."""
        return name

    def argument(self, key: str, text: str, kind: str = "string") -> str:
        """Return one argument in its tags."""
        end = self.value_end_of(key)
        if self.trims and text.endswith("\r"):
            # A final CR and the LF of the tag would read as one line end, CRLF.
            end = end.removeprefix("\n")
        return f"{self.form.opening(self.written_name(key), kind)}{text}{end}"

    def value_end_of(self, key: str) -> str:
        """Return the text that ends the value of this argument."""
        return self.form.value_end

    def tail_of(self, name: str) -> str:
        """Return the text that ends a call of this tool."""
        return self.form.end

    def openings(self, tools: Sequence[ToolSpec]) -> list[str]:
        """Return the openers that prose must not hold in a grammar."""
        starts = dict.fromkeys(map(begun, self.openers(Setting())))
        return [text for text in starts if len(text) > 2]

    def head_of(self, name: str) -> str:
        """Return the beginning of a call of this tool, including its name."""
        return f"{self.form.head[0]}{self.written_name(name)}"

    def _compose_call(self, number: int, call: Call, tools: Mapping[str, ToolSpec]) -> str:
        tool = tools.get(call.name)
        value = in_schema_order(call.input, tool.parameters) if tool else call.input
        said = (self._compose_argument(key, one, tool) for key, one in value.items())
        text = self.form.call(self.head_of(call.name), "".join(said), number)
        return text + self.tail_of(call.name) if call.ended else text

    def _compose_argument(self, key: str, value: Any, tool: ToolSpec | None) -> str:
        return self.argument(key, as_text(self.name, value), type_name(value))


def _beginnings(*tags: Tag) -> list[Shape]:
    return list(dict.fromkeys(tag_start(shape) for tag in tags for shape in tag.shapes))


@lru_cache(maxsize=256)
def _name(opening: str) -> str:
    """Return the name in `<function=NAME>` or `<invoke name="NAME">`."""
    if bare := _NAMED.match(opening):
        return bare[1].strip(_QUOTES)
    return attributes(opening).get("name", "").strip()


def _unwrapped(
    written: Mapping[str, Sequence[tuple[str, str]]], tool: ToolSpec
) -> dict[str, Any] | None:
    """Return the arguments if all stand as JSON in one argument that the tool does not have."""
    ((key, given),) = written.items()
    if key not in _WRAPPERS or key in tool.properties or len(given) > 1:
        return None
    ((_, text),) = given
    inner = typed(text, {"type": "object"}, repair=True)
    if not inner.fits or not inner.value.keys() <= tool.properties.keys():
        return None
    return inner.value
