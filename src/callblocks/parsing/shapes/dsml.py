"""DeepSeek's markup for calls from V3.2 on: tags of `invoke`, `｜DSML｜` before each name.

`string="true"` marks a value as raw text, `string="false"` as JSON; a type in the tool's schema
takes precedence. Models write the bars in ASCII, or twice, forget the end of a call, put a blank
behind the bars, or write all arguments as one JSON object. From V4.1 on the blank is part of each
tag: `gap` is the text between the bars and a name.
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.json_values import MarkedValues
from callblocks.parsing.shapes.tags import Tag, attributed, attributes, literal
from callblocks.parsing.shapes.xml_form import TYPES, XmlForm
from callblocks.parsing.shapes.xml_tags import Beside, XmlTags

__all__ = ("Dsml", "dsml_form", "dsml_rules", "dsml_tags", "spaced_openers")

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
        call=_opening(mark, "invoke"),
        call_end=_ending(mark, "invoke", "invo"),
        argument=_opening(mark, "parameter"),
        argument_end=_ending(mark, "parameter", "para"),
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


def _opening(mark: str, name: str) -> Tag:
    exact = attributed(f"<{mark}{name}")
    rest = exact.atoms[len(f"<{mark}") :]
    return Tag(f"<{mark}{name}>", exact, others=[Shape(("<", *_BARS, *rest))], covered=True)


def _ending(mark: str, name: str, start: str) -> Tag:
    text = f"</{mark}{name}>"
    others = [Shape(("<", "/", *_BARS, *start, "[A-Za-z_]{0,20}", ">"))]
    return Tag(text, literal(text), others=others, covered=True)


def _wrapping(before: str, mark: str, names: Sequence[str]) -> Tag:
    text = f"{before}{mark}{names[0]}>"
    opening = literal(before).atoms
    others = [Shape((*opening, *_BARS, *literal(name).atoms, ">")) for name in names]
    return Tag(text, literal(text), others=others)
