"""Calls as `<function=NAME>` with `<parameter=KEY>` tags, in a wrapper.

One line end on each side of a value belongs to its tags. Models forget the wrapper, or closing tags
before the next tag, or write `<function name="NAME">`. Inside of the wrapper a tag may also be the
bare name of a declared tool: `<NAME>…</NAME>`.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import Any, ClassVar

from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.foreign_body import Bodies
from callblocks.parsing.readers.tags import (
    BLANKS,
    TYPES,
    WORD,
    Beside,
    Tag,
    XmlForm,
    XmlTags,
    as_text,
    attributed,
    attributes,
    begun,
    closing,
    literal,
    misspelt,
    named,
    unclosed,
)
from callblocks.parsing.shapes.xml_parameters import XmlParameters, XmlReader
from callblocks.parsing.values.schema_shape import Schemas, fits
from callblocks.parsing.values.typed import Typed, read_untyped, schema_of, typed_argument, types_of

__all__ = (
    "ARGUMENT",
    "ARG_RULES",
    "NAME",
    "RULES",
    "SUFFIX",
    "ArgKeyValue",
    "Dsml",
    "Framed",
    "FunctionTags",
    "JsonValues",
    "MarkedValues",
    "argument",
    "dsml_form",
    "dsml_rules",
    "dsml_tags",
    "function_form",
    "function_tags",
    "invoke_form",
    "invoke_tags",
    "named_call",
    "pair_tags",
    "spaced_openers",
    "suffixed",
    "wrapped_tags",
)

# Words that models write for `function` inside of the wrapper.
_OTHER_CALLS = ("call", "tool", "invoke")
# A key between tags, with the value behind them.
_KEY_END = literal("</parameter>").atoms
_KEY = re.compile(r"<parameter>\s*(\S+)\s*</parameter>")
_BARE = Markers(Shape((BLANKS, "<", WORD, ">")))


class FunctionTags(XmlParameters):
    """A dialect of this shape."""

    trims = True
    leaves_json = True
    _tool = ""
    rules = (
        "A call is a `<function=NAME>` inside its wrapper. Each argument stands in its own "
        "`<parameter=KEY>`, the value on lines of its own.",
        "Write text as it is, without quotes. Write numbers, booleans, lists and objects as JSON.",
        "A call without arguments has no `<parameter=…>`. Close every tag.",
        "You may write several calls, each in its own wrapper.",
    )

    def read(self, block: Block) -> Reading[Refused | None]:
        if not self.tags.wrapper.is_in(block.opening):
            return (yield from super().read(block))
        bare = yield from block.match(_BARE)
        block.give_back(block.offset - len(bare))
        name = bare.strip()[1:-1]
        shape = self._of(name) if name in block.stage.tools else self
        return (yield from XmlReader(shape, block).read())

    def _of(self, name: str) -> FunctionTags:
        """Return the same dialect with the bare name of a tool as a further tag of a call."""
        shape = copy(self)
        shape.tags, shape._tool = function_tags(self.tags.wrapper.name[1:-1], name), name
        return shape

    def name_in(self, opening: str) -> str:
        return self._tool if opening == f"<{self._tool}>" else super().name_in(opening)

    def key_in(self, opening: str) -> str:
        key = _KEY.fullmatch(opening)
        return key[1] if key else super().key_in(opening)


@lru_cache(maxsize=256)
def function_tags(wrapper: str, name: str = "") -> XmlTags:
    """Return the tags with this wrapper; `name` may be a tag of its own."""
    bare = [literal(f"<{name}>")] if name else []
    bare_end = [literal(f"</{name}>")] if name else []
    return XmlTags(
        wrapper=closing(f"<{wrapper}>"),
        wrapper_end=closing(f"</{wrapper}>", others=[literal("</_call>")]),
        call=Tag(
            "<function=…>",
            named("<function="),
            others=[
                unclosed("<function=", "[\\r\\n]"),
                unclosed("<function=", "(?=<)"),
                attributed("<function"),
                *(named(f"<{word}=") for word in _OTHER_CALLS),
                *bare,
            ],
        ),
        call_end=closing(
            "</function>",
            others=[
                misspelt("</func"),
                *(literal(f"</{word}>") for word in _OTHER_CALLS),
                *bare_end,
            ],
            covered=True,
        ),
        argument=Tag(
            "<parameter=…>",
            named("<parameter="),
            others=[
                attributed("<parameter"),
                named("<param="),
                attributed("<param"),
                Shape((*literal("<parameter>").atoms, BLANKS, WORD, BLANKS, *_KEY_END)),
            ],
        ),
        argument_end=closing("</parameter>", others=[misspelt("</param")], covered=True),
    )


def function_form(wrapper: str) -> XmlForm:
    """Return the form in which such calls are written."""
    return XmlForm(
        wrapper=(f"<{wrapper}>\n", f"\n</{wrapper}>"),
        head=("<function=", ">\n"),
        end="</function>",
        key=("<parameter=", ">\n"),
        value_end="\n</parameter>\n",
    )


# --- Calls as `<invoke name="NAME">` with `<parameter name="KEY">`, in a wrapper ---
#
# Model families differ in the wrapper and in a prefix of every tag. Values are raw text.

RULES = (
    "Write text as it is, without quotes and without escapes. Write numbers, booleans, lists and "
    "objects as JSON.",
    "A call without arguments has no parameters. Close every tag.",
    "Calls that belong together stand in one wrapper, one after the other.",
)


def invoke_tags(wrapper: str, prefixes: Sequence[str] = ("",)) -> XmlTags:
    """Return tags with this wrapper, each with any of the prefixes."""
    return XmlTags(
        wrapper=closing(*(f"<{one}{wrapper}>" for one in prefixes)),
        wrapper_end=closing(*(f"</{one}{wrapper}>" for one in prefixes)),
        call=_opening("invoke", prefixes),
        call_end=_ending("invoke", "invo", prefixes),
        argument=_opening("parameter", prefixes),
        argument_end=_ending("parameter", "para", prefixes),
    )


def invoke_form(wrapper: str, prefix: str = "") -> XmlForm:
    """Return the form in which such calls are written."""
    return XmlForm(
        wrapper=(f"<{prefix}{wrapper}>\n", f"</{prefix}{wrapper}>"),
        head=(f'<{prefix}invoke name="', '">\n'),
        end=f"</{prefix}invoke>\n",
        key=(f'<{prefix}parameter name="', '">'),
        value_end=f"</{prefix}parameter>\n",
        shared=True,
    )


def _opening(name: str, prefixes: Sequence[str]) -> Tag:
    return Tag(f"<{prefixes[0]}{name}>", *(attributed(f"<{one}{name}") for one in prefixes))


def _ending(name: str, start: str, prefixes: Sequence[str]) -> Tag:
    others = [misspelt(f"</{one}{start}") for one in prefixes]
    return closing(*(f"</{one}{name}>" for one in prefixes), others=others, covered=True)


# --- Arguments in tags whose values are JSON or text, by the schema, the tag or their form ---


class JsonValues(XmlParameters):
    """A dialect in which a value without a type in the schema is JSON if it can be."""

    values_are_text = False

    def typed_value(self, opening: str, text: str, tool: ToolSpec | None, key: str) -> Typed:
        if not _says_type(tool, key):
            return read_untyped(text)
        return typed_argument(text, tool, key)

    def _compose_argument(self, key: str, value: Any, tool: ToolSpec | None) -> str:
        text = as_text(self.name, value)
        # Text that happens to be JSON (`12`, `true`) is written as a JSON string, so that it reads
        # back as text.
        is_text = isinstance(value, str) and not _says_type(tool, key)
        if is_text and read_untyped(text).value != text:
            text = json.dumps(text, ensure_ascii=False)
        return self.argument(key, text)


class MarkedValues(XmlParameters):
    """A dialect whose tags mark a value as text or JSON; the schema takes precedence."""

    values_are_text = False

    @abstractmethod
    def is_text(self, opening: str) -> bool:
        """Return whether the tag marks its value as text, or does not mark it."""

    def typed_value(self, opening: str, text: str, tool: ToolSpec | None, key: str) -> Typed:
        if not self.is_text(opening):
            read = read_untyped(text)
            is_json = read.value != text
            document = tool.parameters if tool else True
            if is_json and fits(read.value, schema_of(tool, key), document):
                return read
            if not is_json and not _says_type(tool, key):
                return Typed(text, False)
        return typed_argument(text, tool, key)


def _says_type(tool: ToolSpec | None, key: str) -> bool:
    if tool is None:
        return False
    return any(map(types_of, Schemas(tool.parameters).plain(schema_of(tool, key))))


# --- DeepSeek's markup for calls from V3.2 on: tags of `invoke`, `｜DSML｜` before each name ---
#
# `string="true"` marks a value as raw text, `string="false"` as JSON; a type in the tool's schema
# takes precedence. Models write the bars in ASCII, or twice, forget the end of a call, put a blank
# behind the bars, or write all arguments as one JSON object. From V4.1 on the blank is part of each
# tag: `gap` is the text between the bars and a name.

DSML = "｜DSML｜"
_MARK = ("[｜|]{1,2}", " ?", *"DSML", " ?", "[｜|]{1,2}")
_BARS = (*_MARK, " ?")


class Dsml(MarkedValues):
    """A dialect of this markup."""

    def is_text(self, opening: str) -> bool:
        return attributes(opening).get("string") != "false"


def dsml_rules(wrapper: str, gap: str = "") -> tuple[str, ...]:
    """Return the rules that teach such calls."""
    mark = f"{DSML}{gap}"
    return (
        f'A call is a `<{mark}invoke name="NAME">` inside `<{mark}{wrapper}>`.',
        f'Each argument stands in its own `<{mark}parameter name="KEY" string="true">`. With '
        '`string="true"` the value is text as it is; with `string="false"` it is JSON.',
        "A call without arguments has no parameters. Close every tag.",
    )


def dsml_tags(wrapper: str, *others: str, gap: str = "") -> XmlTags:
    """Return the tags with this wrapper; `others` are other names that models give it."""
    mark = f"{DSML}{gap}"
    return XmlTags(
        wrapper=_wrapping("<", mark, (wrapper, *others)),
        wrapper_end=_wrapping("</", mark, (wrapper, *others)),
        call=_dsml_opening(mark, "invoke"),
        call_end=_dsml_ending(mark, "invoke", "invo"),
        argument=_dsml_opening(mark, "parameter"),
        argument_end=_dsml_ending(mark, "parameter", "para"),
        beside=Beside(json_bodies=True),
    )


def dsml_form(wrapper: str, gap: str = "") -> XmlForm:
    """Return the form in which such calls are written."""
    mark = f"{DSML}{gap}"
    return XmlForm(
        wrapper=(f"<{mark}{wrapper}>\n", f"</{mark}{wrapper}>"),
        head=(f'<{mark}invoke name="', '">\n'),
        end=f"</{mark}invoke>\n",
        key=(f'<{mark}parameter name="', '">'),
        value_end=f"</{mark}parameter>\n",
        shared=True,
        marks={kind: f'" string="{str(kind == "string").lower()}' for kind in TYPES},
    )


def spaced_openers(wrapper: str) -> tuple[Shape, ...]:
    """Return the openers of spaced tags in any spelling of the bars; no other version has them."""
    call = attributed("invoke").atoms
    return Shape(("<", *_BARS, *wrapper, ">")), Shape(("<", *_MARK, " ", *call))


def _dsml_opening(mark: str, name: str) -> Tag:
    exact = attributed(f"<{mark}{name}")
    rest = exact.atoms[len(f"<{mark}") :]
    return Tag(f"<{mark}{name}>", exact, others=[Shape(("<", *_BARS, *rest))], covered=True)


def _dsml_ending(mark: str, name: str, start: str) -> Tag:
    text = f"</{mark}{name}>"
    others = [Shape(("<", "/", *_BARS, *start, "[A-Za-z_]{0,20}", ">"))]
    return Tag(text, literal(text), others=others, covered=True)


def _wrapping(before: str, mark: str, names: Sequence[str]) -> Tag:
    text = f"{before}{mark}{names[0]}>"
    opening = literal(before).atoms
    others = [Shape((*opening, *_BARS, *literal(name).atoms, ">")) for name in names]
    return Tag(text, literal(text), others=others)


# --- Calls whose arguments are pairs of tags, `<arg_key>` and `<arg_value>` ---
#
# A value is text if the tool's schema says so, and JSON if the schema has another type or none. A
# key without a value is dropped and reported. A value may lack its opening tag.

NAME = "[\\w./:-]{1,200}"
# A suffix that a model may add to the name of each tag: `<tool_call:v2>`.
SUFFIX = "[\\w.-]{1,40}"
ARG_RULES = (
    "For each argument write its name in `<arg_key>` and its value in `<arg_value>`.",
    "Write text as it is, without quotes. Write numbers, booleans, lists and objects as JSON.",
    "A call without arguments has no `<arg_key>`. Close every tag.",
)
_ARG_KEY = re.compile(r"<arg_key[^<>]*>\s*([^<]*?)\s*<")
_FIRST = Markers(Shape((BLANKS, *literal("<arg_key").atoms)))
_NAME = re.compile(rf"<(?:tool_call|user)[^<>]*>\s*({NAME})")


def argument(suffix: str = "") -> Shape:
    """Return the tags before a value, each with this suffix, an atom of a pattern."""
    return Shape(
        (
            *suffixed("<arg_key", suffix),
            "[^<]{1,200}",
            *suffixed("</arg_key", suffix),
            BLANKS,
            *suffixed("<arg_value", suffix),
        )
    )


def untagged(suffix: str = "") -> Shape:
    """Return the key of a value without an opening tag; text must follow it."""
    key = (*suffixed("<arg_key", suffix), "[^<]{1,200}", *suffixed("</arg_key", suffix))
    return Shape((*key, BLANKS, "(?=[^<\\s])"))


def unclosed_keys(suffix: str = "") -> tuple[Shape, ...]:
    """Return the tags before a value if the key's closing tag is missing, or is that of a value."""
    key, value = (*suffixed("<arg_key", suffix), "[^<]{1,200}"), suffixed("<arg_value", suffix)
    wrong = suffixed("</arg_value", suffix)
    return Shape((*key, *value)), Shape((*key, *wrong, BLANKS, *value))


def suffixed(tag: str, suffix: str = "") -> tuple[str, ...]:
    """Return the atoms of a tag with a suffix to its name."""
    return (*literal(tag).atoms, *((":", suffix) if suffix else ()), ">")


def named_call(after: str, *others: str) -> Tag:
    """Return the tag of a call with its name, which a character of the class `after` must follow.

    `others` are tags that models write for it.
    """
    rest = (BLANKS, NAME, f"(?={after})")
    return Tag(
        "<tool_call>NAME",
        Shape((*literal("<tool_call>").atoms, *rest)),
        others=[Shape((*literal(one).atoms, *rest)) for one in others],
    )


ARGUMENT = "<arg_key>…</arg_key><arg_value>"


def pair_tags(*others: str) -> XmlTags:
    """Return the tags of calls that begin with `<tool_call>NAME`; `others` are variants of it."""
    key = (*suffixed("<arg_key"), "[^<]{1,200}", *suffixed("</arg_key"), BLANKS)
    end = literal("</tool_call>")
    return XmlTags(
        call=named_call("[\\s<]", *others),
        call_end=closing(
            "</tool_call>",
            others=[
                Shape((*key, *end.atoms)),
                *(literal(one.replace("<", "</")) for one in others),
            ],
        ),
        argument=Tag(
            ARGUMENT,
            argument(),
            others=[Shape((*key, *argument().atoms)), untagged(), *unclosed_keys()],
        ),
        argument_end=closing("</arg_value>", others=[misspelt("</arg_v")], covered=True),
    )


def wrapped_tags(call: Tag) -> XmlTags:
    """Return the tags of calls in `<tool_calls>`; each may have a suffix."""
    return XmlTags(
        wrapper=Tag("<tool_calls>", *_spellings("<tool_calls")),
        wrapper_end=Tag("</tool_calls>", *_spellings("</tool_calls")),
        call=call,
        call_end=Tag("</tool_call>", *_spellings("</tool_call")),
        argument=Tag(
            ARGUMENT,
            argument(),
            argument(SUFFIX),
            others=[untagged(), untagged(SUFFIX), *unclosed_keys(), *unclosed_keys(SUFFIX)],
        ),
        argument_end=Tag("</arg_value>", *_spellings("</arg_value"), others=[misspelt("</arg_v")]),
    )


def _spellings(tag: str) -> tuple[Shape, Shape]:
    return Shape(suffixed(tag)), Shape(suffixed(tag, SUFFIX))


class ArgKeyValue(JsonValues):
    """A dialect of this shape; a call's name stands right after its opening tag."""

    leaves_json = True
    call_openings: ClassVar[tuple[str, ...]] = ("<tool_call>",)

    @property
    def bodies_between(self) -> Bodies | None:
        """The bodies inside of `<tool_call>`, whatever wraps it."""
        section, section_end = (
            tuple(begun(shape) for shape in tag.exact[:1])
            for tag in (self.tags.wrapper, self.tags.wrapper_end)
        )
        return Bodies(
            self.call_openings,
            tuple(one.replace("<", "</") for one in self.call_openings),
            section=section,
            section_end=section_end,
            notation="tags",
        )

    def read(self, block: Block) -> Reading[Refused | None]:
        # Transcripts have the tag of a user's turn, too. Where it is none of the dialect, an
        # argument must follow.
        is_own = block.opening.startswith("<tool_call")
        is_read = is_own or (block.stage.alone and len(self.call_openings) > 1)
        if block.opening[:1] == "<" and not (is_read or (yield from block.stands(_FIRST))):
            return block.refuse(expected="`<arg_key>`")
        return (yield from super().read(block))

    def name_in(self, opening: str) -> str:
        found = _NAME.match(opening)
        return found[1] if found else ""

    def key_in(self, opening: str) -> str:
        return _ARG_KEY.findall(opening)[-1]


# --- Tokens that frame messages and carry no content: they are read as markup ---


class Framed(XmlParameters):
    """A dialect whose calls and prose stand among such tokens."""

    frames: ClassVar[tuple[str, ...]]

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (*self.frames, *super().openers(setting))

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening in self.frames:
            return block.markup()
        return (yield from super().read(block))
