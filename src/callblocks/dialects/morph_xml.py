"""Morph's calls: the tool's name is the tag, and the schema says what is in it::

    <book>
    <city>Oslo</city>
    <guests><name>Ann</name><age>7</age></guests>
    <tags><item>new</item><item>old</item></tags>
    </book>

An object may have an element for each member, and a list one for each item; a list may also be
its own element again and again. Either may be JSON, which is how they are written here.
"""

from __future__ import annotations

from callblocks.parsing.shapes.element_bodies import NamedTags

__all__ = ("MorphXml",)


class MorphXml(NamedTags):
    """`<NAME>` with an element for each argument, nested as the schema says."""

    name = "morph_xml"
    summary = "the tool's name as a tag, with nested tags as the schema says"
    syntax = "<NAME>\n<KEY>VALUE</KEY>\n</NAME>"
    rules = (
        "A call is a tag with the tool's name. Each argument stands in a tag with its name.",
        "Write text as it is, without quotes and without escapes. Write numbers, booleans, lists "
        "and objects as JSON.",
        "A call without arguments has nothing between its tags. Close every tag.",
    )

    # Its calls look like those of `cline`: who means these must say so.
    in_auto = False
