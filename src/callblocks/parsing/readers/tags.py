"""Tags of text that is not quite XML: their exact spelling, and the variants that models write.

    literal("</parameter>")        that very tag
    named("<function=")            `<function=NAME>`
    attributed("<invoke")          `<invoke name="NAME">`, with any quotes or none

An opening tag is one marker, including its name or attributes. So an incomplete tag is held back
like any marker, and a reader never sees half a tag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

from callblocks.core.errors import Unwritable
from callblocks.core.text import brief
from callblocks.parsing.engine.markers import Markers, Shape, respelt_atoms

__all__ = (
    "BLANKS",
    "NOTHING",
    "TYPES",
    "WORD",
    "Beside",
    "Tag",
    "XmlForm",
    "XmlTags",
    "as_text",
    "attributed",
    "attributes",
    "begun",
    "closing",
    "head",
    "literal",
    "misspelt",
    "named",
    "respelt",
    "tag_start",
    "unclosed",
)

# All repetitions are bounded: a growing pattern is matched again for each piece, and an unbounded
# one would make a long run of blanks quadratic.
BLANKS = "[ \\t\\r\\n]{0,400}"
HEAD = "[^<>\\n]{1,200}"
WORD = "[\\w.:/-]{1,200}"
ATTRIBUTES = "[^<>]{1,400}"
_BLANK = "[ \\t\\r\\n]"
_QUOTED_BLANK = "[ \\t\\r\\n\\\\]"
_LONG = re.compile(r"\{\d,\d{2,}\}\Z")
_ONE_OF = re.compile(r"\[[^\]]+\]")
# `name="value"` in straight, curly or no quotes.
_ATTRIBUTE = re.compile(
    r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|[“”]([^“”]*)[“”]|[‘’]([^‘’]*)[‘’]|([^\s"'“”‘’/<>]+))"""
)


def literal(text: str) -> Shape:
    """Return a tag without variable parts."""
    return Shape(tuple(map(re.escape, text)))


def respelt(text: str) -> Shape:
    """Return a tag without variable parts, in any spelling of its bars."""
    return Shape(respelt_atoms(text))


def named(opening: str) -> Shape:
    """Return a tag with a name right behind `opening`."""
    return Shape((*map(re.escape, opening), HEAD, ">"))


def unclosed(opening: str, end: str) -> Shape:
    """Return the same tag without its bracket: one word, then `end`."""
    return Shape((*map(re.escape, opening), WORD, end))


def misspelt(start: str) -> Shape:
    """Return a closing tag with a misspelt end: only its start is fixed."""
    return Shape((*map(re.escape, start), "[A-Za-z_]{0,20}", ">"))


def attributed(opening: str, end: str = ">") -> Shape:
    """Return a tag with attributes."""
    return Shape((*map(re.escape, opening), _BLANK, ATTRIBUTES, *map(re.escape, end)))


def begun(shape: str | Shape) -> str:
    """Return the fixed text at the start of a marker."""
    if isinstance(shape, str):
        return shape
    known = takewhile(lambda atom: re.escape(atom[-1:]) == atom, shape.atoms)
    return "".join(atom[-1:] for atom in known)


def head(shape: Shape) -> Shape:
    """Return the beginning that identifies a tag: its fixed text and the separator behind it."""
    size = len(begun(shape))
    ends = size < len(shape.atoms) and _ONE_OF.fullmatch(shape.atoms[size])
    return Shape(shape.atoms[: size + bool(ends)])


def tag_start(shape: Shape) -> Shape:
    """Return a tag up to where a name or attributes begin, also as it stands in a JSON string."""
    own = takewhile(lambda atom: not _LONG.search(atom), shape.atoms)
    return Shape(tuple(_QUOTED_BLANK if atom == _BLANK else atom for atom in own))


@lru_cache(maxsize=256)
def attributes(text: str) -> Mapping[str, str]:
    """Return the attributes in a tag, with any quotes or none."""
    found = (match.groups() for match in _ATTRIBUTE.finditer(text))
    return {name: next((one for one in values if one is not None), "") for name, *values in found}


class Tag:
    """A tag in its exact spelling, and `others`, the variants that models write.

    `name` is for messages. `covered`: the variants also match the exact spelling, so they suffice.
    """

    def __init__(
        self, name: str, *exact: Shape, others: Sequence[Shape] = (), covered: bool = False
    ) -> None:
        self.name = name
        self.exact = exact
        self.shapes = tuple(others) if covered else (*exact, *others)
        self._has_others = bool(others)
        # Cached per tag, since models write the same few tags again and again. `is_in`: a text is
        # this tag in any spelling; `is_exact`: it has the exact one.
        self.is_in = lru_cache(maxsize=256)(self._is_in)
        self.is_exact = lru_cache(maxsize=256)(self._is_exact)

    @cached_property
    def markers(self) -> Markers:
        """The tag as a set of markers."""
        return Markers(*self.shapes)

    # Compiled at first use: there are hundreds of tags, and a text has few of them.
    @cached_property
    def _any(self) -> re.Pattern[str]:
        return _pattern(self.shapes)

    @cached_property
    def _exact(self) -> re.Pattern[str]:
        return _pattern(self.exact)

    def _is_in(self, text: str) -> bool:
        return self._any.match(text) is not None

    def _is_exact(self, text: str) -> bool:
        return not self._has_others or self._exact.match(text) is not None

    def cut_off(self, text: str) -> str:
        """Return a text without this tag at its start."""
        return self._any.sub("", text, count=1)

    def after(self, *atoms: str) -> Iterator[Shape]:
        """Yield the shapes of the tag with atoms before them."""
        return (Shape((*atoms, *shape.atoms)) for shape in self.shapes)


def closing(*texts: str, others: Sequence[Shape] = (), covered: bool = False) -> Tag:
    """Return a tag without variable parts, in one of a few spellings."""
    return Tag(texts[0], *map(literal, texts), others=others, covered=covered)


def _pattern(shapes: Sequence[Shape]) -> re.Pattern[str]:
    # These patterns match a tag that was cut out of the text, without the text behind it. So each
    # lookahead may also match the end.
    own = (
        [f"(?:{atom}|\\Z)" if atom.startswith("(?=") else atom for atom in shape.atoms]
        for shape in shapes
    )
    return re.compile("|".join(map("".join, own)) or "(?!)")


# A tag that never matches.
NOTHING = Tag("")


# --- The tags of a dialect with arguments in tags, and the sets of tags that may follow each ---

_ANY_CLOSING = Shape(("<", "/", "[^<>\\s]{1,60}", ">"))
_STRAY = "[^<>]{1,40}"
_JSON = Shape((BLANKS, "\\{"))


class Beside(NamedTuple):
    """Text that may stand in a call, or behind it, in place of an argument or its end.

    `json_bodies`: a JSON object may stand for the arguments; in other dialects that is a repair.
    `json_element`: an opening tag, with the brace, and an end tag around such an object. `outer`:
    tags that end the message around a call, and so the call.
    """

    json_bodies: bool = False
    json_element: tuple[Shape, Shape] | None = None
    outer: tuple[str, ...] = ()


ONLY_ARGUMENTS = Beside()


class XmlTags:
    """The tags of a dialect; there may be no wrapper.

    `beside`: text that a call may hold other than arguments.

    Each set of markers belongs to a state of the reader: `first` in the wrapper, `inside` a call,
    `value_ends` within a value, and one behind each end. `begun` is the beginning of an argument,
    which makes a call certain.
    """

    def __init__(
        self,
        *,
        call: Tag,
        call_end: Tag,
        argument: Tag,
        argument_end: Tag,
        wrapper: Tag = NOTHING,
        wrapper_end: Tag = NOTHING,
        beside: Beside = ONLY_ARGUMENTS,
    ) -> None:
        self.call, self.call_end = call, call_end
        self.argument, self.argument_end = argument, argument_end
        self.wrapper, self.wrapper_end = wrapper, wrapper_end
        self.has_wrapper = wrapper is not NOTHING
        # One set of markers per state. Each tag has blanks before it, so that a tag and its
        # indentation are one marker and no blank is consumed without a tag behind it.
        ends = (call_end, wrapper_end)
        self.first = _after_blanks(call)
        within = (argument, *ends, *((call,) if self.has_wrapper else ()))
        element, element_end = beside.json_element or (None, None)
        objects = [Shape((BLANKS, *element.atoms)), _JSON] if element else [_JSON]
        self.json_bodies = beside.json_bodies
        self.outer = closing(*beside.outer) if beside.outer else NOTHING
        wrapped_calls = self._wrapped_calls()
        self.inside = Markers(*_spaced(*within, self.outer), *wrapped_calls, *objects)
        self.begun = Markers(*(Shape((BLANKS, *head(one).atoms)) for one in argument.exact))
        self.after_argument = Markers(*_spaced(argument, call, *ends, self.outer), *wrapped_calls)
        self.after_call = _after_blanks(call, wrapper_end)
        self.wrapper_ends = _after_blanks(wrapper_end)
        self.after_wrapper = Markers(*wrapped_calls)
        # Within a value any closing tag stops the stream: a misspelt `</param>` must be looked at,
        # too, and `XmlCall` decides whether it is an end or part of the value.
        outer = (shape for tag in (argument_end, *ends) for shape in tag.shapes)
        self.value_ends = Markers(*outer, _ANY_CLOSING)
        self.call_ends = Markers(*(shape for tag in ends for shape in tag.shapes))
        self.after_element = _after_blanks(*ends)
        self.element_end = Tag("", element_end) if element_end else NOTHING
        self.element_ends = Markers(*self.element_end.shapes, *self.call_ends.shapes)

    @cached_property
    def skipped_to(self) -> Markers:
        """The tags that end a call whose arguments cannot be read."""
        return Markers(*self.call_ends.shapes, *self.call.shapes)

    @cached_property
    def after_stray(self) -> Markers:
        """A few words after a call in its wrapper, and the tag that follows them."""
        return Markers(*_spaced(*(self.wrapper_end, self.call), before=_STRAY))

    @cached_property
    def argument_marks(self) -> re.Pattern[str]:
        """The tags that open and close arguments, to be searched for in a value."""
        return Markers(*self.argument.shapes, *self.argument_end.shapes).final

    def bare(self, tag: str) -> str:
        """Return a tag without the blanks, and the opening of a wrapper, before it."""
        bare = tag.lstrip()
        return self.wrapper.cut_off(bare).lstrip() if self.wrapper.is_in(bare) else bare

    def is_call_or_wrapper_end(self, tag: str) -> bool:
        """Return whether a tag ends a call, or the wrapper."""
        return self.call_end.is_in(tag) or self.wrapper_end.is_in(tag)

    @property
    def openers(self) -> tuple[Shape, ...]:
        """The tags that may open a block."""
        return (*(self.wrapper.shapes if self.has_wrapper else ()), *self.call.shapes)

    def _wrapped_calls(self) -> list[Shape]:
        openings = list(self.wrapper.after(BLANKS))
        return [shape for opening in openings for shape in self.call.after(*opening.atoms, BLANKS)]


def _spaced(*tags: Tag, before: str = BLANKS) -> list[Shape]:
    return [shape for tag in tags for shape in tag.after(before)]


def _after_blanks(*tags: Tag) -> Markers:
    return Markers(*_spaced(*tags))


# --- The form in which a dialect of tags writes its calls ---

TYPES = ("string", "number", "integer", "boolean", "null", "object", "array")


class XmlForm(NamedTuple):
    """The literals of a form. A pair is the text before and behind a name or a row.

    `shared`: adjacent calls stand in one wrapper. `marks`: the text behind a key that marks the
    type of its value, by JSON Schema type. `number`: the text between a call's name and its number,
    if calls are numbered.
    """

    head: tuple[str, str]
    end: str
    key: tuple[str, str]
    value_end: str
    wrapper: tuple[str, str] = ("", "")
    shared: bool = False
    marks: Mapping[str, str] = {}
    number: str = ""

    def opening(self, key: str, kind: str = "string") -> str:
        """Return the tag that opens an argument with a value of this type."""
        return f"{self.key[0]}{key}{self.marks.get(kind, '')}{self.key[1]}"

    def call(self, head: str, arguments: str, number: int) -> str:
        """Return one call without its end and its wrapper; `head` is its tag up to its name."""
        numbered = f"{self.number}{number}" if self.number else ""
        return f"{head}{numbered}{self.head[1]}{arguments}"

    def calls(self, calls: Sequence[str], *, ended: bool) -> str:
        """Return adjacent calls, in one shared wrapper or in one each."""
        rows = [calls] if self.shared else [[call] for call in calls]
        before, after = self.wrapper
        text = "".join(f"{before}{''.join(row)}{after}" for row in rows)
        return text if ended else text.removesuffix(after)


def as_text(dialect: str, value: Any) -> str:
    """Return a string unchanged, and any other value as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Unwritable(dialect, f"the value {brief(value)}: {error}") from error
