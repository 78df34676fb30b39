"""Tags of a text that is not quite XML: how each is written, and how else models write it.

    literal("</parameter>")        that very tag
    named("<function=")            `<function=NAME>`
    attributed("<invoke")          `<invoke name="NAME">`, with any quotes or none

An opening tag is matched whole, its name or attributes with it: so whoever waits for one waits
for no more than a tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from callblocks.parsing.markers import Shape

__all__ = ("BLANKS", "Tag", "attributed", "attributes", "literal", "named")

BLANKS = "[ \\t\\r\\n]{0,400}"
HEAD = "[^<>\\n]{1,200}"
ATTRIBUTES = "[^<>]{1,400}"
_ATTRIBUTE = re.compile(
    r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|[“”]([^“”]*)[“”]|[‘’]([^‘’]*)[‘’]|([^\s"'“”‘’/]+))"""
)


def literal(text: str) -> Shape:
    """A tag that is always the same."""
    return Shape(tuple(map(re.escape, text)))


def named(opening: str, end: str = ">") -> Shape:
    """A tag whose name stands right after `opening`."""
    return Shape((*map(re.escape, opening), HEAD, end))


def attributed(opening: str, end: str = ">") -> Shape:
    """A tag with attributes."""
    return Shape((*map(re.escape, opening), "[ \\t\\r\\n]", ATTRIBUTES, *map(re.escape, end)))


def attributes(text: str) -> dict[str, str]:
    """The attributes that stand in a tag, whatever their quotes."""
    found = (match.groups() for match in _ATTRIBUTE.finditer(text))
    return {name: next((one for one in values if one is not None), "") for name, *values in found}


class Tag:
    """A tag as its grammar writes it, and the ways in which models miss it.

    `name` is what people call it.
    """

    def __init__(self, name: str, exact: Shape, *others: Shape) -> None:
        self.name = name
        self._exact = exact
        self.shapes = (exact, *others)

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile("|".join("".join(shape.atoms) for shape in self.shapes))

    @cached_property
    def _only(self) -> re.Pattern[str]:
        return re.compile("".join(self._exact.atoms))

    def is_in(self, text: str) -> bool:
        """Whether this is such a tag, however it is spelt."""
        return self._any.match(text) is not None

    def is_exact(self, text: str) -> bool:
        return self._only.match(text) is not None

    def after(self, *atoms: str) -> Iterator[Shape]:
        """The same tag after something else."""
        return (Shape((*atoms, *shape.atoms)) for shape in self.shapes)
