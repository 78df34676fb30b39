"""DeepSeek's markup for calls from V3.2 on: tags of `invoke`, `｜DSML｜` before each name.

`string="true"` says that a value is text as it stands, `string="false"` that it is JSON; where a
tool's schema says a type, that is what counts. Models write the bars in ASCII, or twice, forget
the end of a call, put a blank after the bars, or all arguments into one JSON object.
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.json_values import MarkedValues
from callblocks.parsing.shapes.tags import Tag, attributed, attributes, literal
from callblocks.parsing.shapes.xml_form import TYPES, XmlForm
from callblocks.parsing.shapes.xml_tags import Beside, XmlTags

__all__ = ("RULES", "Dsml", "dsml_form", "dsml_tags")

DSML = "｜DSML｜"
RULES = (
    f'Each argument stands in its own `<{DSML}parameter name="KEY" string="true">`. With '
    '`string="true"` the value is text as it is; with `string="false"` it is JSON.',
    "A call without arguments has no parameters. Close every tag.",
)
_BARS = ("[｜|]{1,2}", " ?", *"DSML", " ?", "[｜|]{1,2}", " ?")


class Dsml(MarkedValues):
    """A dialect of this markup."""

    def is_text(self, opening: str) -> bool:
        return attributes(opening).get("string") != "false"


def dsml_tags(wrapper: str, *others: str) -> XmlTags:
    """The tags with this wrapper; `others` are what else models call it."""
    return XmlTags(
        wrapper=_wrapping("<", (wrapper, *others)),
        wrapper_end=_wrapping("</", (wrapper, *others)),
        call=_opening("invoke"),
        call_end=_ending("invoke", "invo"),
        argument=_opening("parameter"),
        argument_end=_ending("parameter", "para"),
        beside=Beside(json_bodies=True),
    )


def dsml_form(wrapper: str) -> XmlForm:
    """How such calls are written."""
    return XmlForm(
        wrapper=(f"<{DSML}{wrapper}>\n", f"</{DSML}{wrapper}>"),
        head=(f'<{DSML}invoke name="', '">\n'),
        end=f"</{DSML}invoke>\n",
        key=(f'<{DSML}parameter name="', '">'),
        value_end=f"</{DSML}parameter>\n",
        shared=True,
        marks={kind: f'" string="{str(kind == "string").lower()}' for kind in TYPES},
    )


def _opening(name: str) -> Tag:
    exact = attributed(f"<{DSML}{name}")
    rest = exact.atoms[len(f"<{DSML}") :]
    return Tag(f"<{DSML}{name}>", exact, others=[Shape(("<", *_BARS, *rest))], covered=True)


def _ending(name: str, start: str) -> Tag:
    text = f"</{DSML}{name}>"
    others = [Shape(("<", "/", *_BARS, *start, "[A-Za-z_]{0,20}", ">"))]
    return Tag(text, literal(text), others=others, covered=True)


def _wrapping(before: str, names: Sequence[str]) -> Tag:
    text = f"{before}{DSML}{names[0]}>"
    opening = literal(before).atoms
    others = [Shape((*opening, *_BARS, *literal(name).atoms, ">")) for name in names]
    return Tag(text, literal(text), others=others)
