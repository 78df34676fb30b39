"""Tags of text that is not quite XML: their exact spelling, and the variants that models write.

    literal("</parameter>")        that very tag
    named("<function=")            `<function=NAME>`
    attributed("<invoke")          `<invoke name="NAME">`, with any quotes or none

An opening tag is one marker, including its name or attributes. So an incomplete tag is held back
like any marker, and a reader never sees half a tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import takewhile

from callblocks.parsing.markers import Markers, Shape
from callblocks.parsing.spelling import respelt_atoms

__all__ = (
    "BLANKS",
    "NOTHING",
    "WORD",
    "Tag",
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
