"""Tags of a text that is not quite XML: how each is written, and how else models write it.

    literal("</parameter>")        that very tag
    named("<function=")            `<function=NAME>`
    attributed("<invoke")          `<invoke name="NAME">`, with any quotes or none

An opening tag is matched whole, its name or attributes with it: so whoever waits for one waits
for no more than a tag.
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

BLANKS = "[ \\t\\r\\n]{0,400}"
HEAD = "[^<>\\n]{1,200}"
WORD = "[\\w.:/-]{1,200}"
ATTRIBUTES = "[^<>]{1,400}"
_BLANK = "[ \\t\\r\\n]"
_QUOTED_BLANK = "[ \\t\\r\\n\\\\]"
_LONG = re.compile(r"\{\d,\d{2,}\}\Z")
_ONE_OF = re.compile(r"\[[^\]]+\]")
_ATTRIBUTE = re.compile(
    r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|[“”]([^“”]*)[“”]|[‘’]([^‘’]*)[‘’]|([^\s"'“”‘’/<>]+))"""
)


def literal(text: str) -> Shape:
    """A tag that is always the same."""
    return Shape(tuple(map(re.escape, text)))


def respelt(text: str) -> Shape:
    """A tag that is always the same, in any spelling of its bars."""
    return Shape(respelt_atoms(text))


def named(opening: str) -> Shape:
    """A tag whose name stands right after `opening`."""
    return Shape((*map(re.escape, opening), HEAD, ">"))


def unclosed(opening: str, end: str) -> Shape:
    """The same without its bracket: what stands before `end` is one word."""
    return Shape((*map(re.escape, opening), WORD, end))


def misspelt(start: str) -> Shape:
    """A closing tag that begins as it should."""
    return Shape((*map(re.escape, start), "[A-Za-z_]{0,20}", ">"))


def attributed(opening: str, end: str = ">") -> Shape:
    """A tag with attributes."""
    return Shape((*map(re.escape, opening), _BLANK, ATTRIBUTES, *map(re.escape, end)))


def begun(shape: str | Shape) -> str:
    """What of a marker is always the same, from its start on."""
    if isinstance(shape, str):
        return shape
    known = takewhile(lambda atom: re.escape(atom[-1:]) == atom, shape.atoms)
    return "".join(atom[-1:] for atom in known)


def head(shape: Shape) -> Shape:
    """The beginning of a tag that tells which it is: what is always the same, and what parts it."""
    size = len(begun(shape))
    ends = size < len(shape.atoms) and _ONE_OF.fullmatch(shape.atoms[size])
    return Shape(shape.atoms[: size + bool(ends)])


def tag_start(shape: Shape) -> Shape:
    """Return a tag up to where a name or attributes begin, also as it stands in a JSON string."""
    own = takewhile(lambda atom: not _LONG.search(atom), shape.atoms)
    return Shape(tuple(_QUOTED_BLANK if atom == _BLANK else atom for atom in own))


@lru_cache(maxsize=256)
def attributes(text: str) -> Mapping[str, str]:
    """The attributes that stand in a tag, whatever their quotes."""
    found = (match.groups() for match in _ATTRIBUTE.finditer(text))
    return {name: next((one for one in values if one is not None), "") for name, *values in found}


class Tag:
    """A tag as its grammar writes it, and `others`: the ways in which models miss it.

    `name` is what people call it. `covered` says that the others match what is exact as well.
    """

    def __init__(
        self, name: str, *exact: Shape, others: Sequence[Shape] = (), covered: bool = False
    ) -> None:
        self.name = name
        self.exact = exact
        self.shapes = tuple(others) if covered else (*exact, *others)
        self._has_others = bool(others)
        # Models write the same few tags again and again.
        # Whether this is such a tag, however it is spelt.
        self.is_in = lru_cache(maxsize=256)(self._is_in)
        # Whether such a tag is spelt as its grammar writes it.
        self.is_exact = lru_cache(maxsize=256)(self._is_exact)

    @cached_property
    def markers(self) -> Markers:
        """The tag alone, to be searched for."""
        return Markers(*self.shapes)

    # Compiled when it is met: there are hundreds of tags, and a text has a few.
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
        """The text after such a tag."""
        return self._any.sub("", text, count=1)

    def after(self, *atoms: str) -> Iterator[Shape]:
        """The same tag after something else."""
        return (Shape((*atoms, *shape.atoms)) for shape in self.shapes)


def closing(*texts: str, others: Sequence[Shape] = (), covered: bool = False) -> Tag:
    """A tag that is always the same, in one of a few spellings."""
    return Tag(texts[0], *map(literal, texts), others=others, covered=covered)


def _pattern(shapes: Sequence[Shape]) -> re.Pattern[str]:
    # A tag that was taken may stand alone: what had to follow it is no part of it.
    own = (
        [f"(?:{atom}|\\Z)" if atom.startswith("(?=") else atom for atom in shape.atoms]
        for shape in shapes
    )
    return re.compile("|".join(map("".join, own)) or "(?!)")


# A tag that never stands anywhere.
NOTHING = Tag("")
