"""DeepSeek's markup for calls from V3.2 on: tags of `invoke`, `｜DSML｜` before each name.

`string="true"` says that a value is text as it stands, `string="false"` that it is JSON; where a
tool's schema says a type, that is what counts. Models write the bars in ASCII, or twice, forget
the end of a call, put a blank after the bars, or all arguments into one JSON object.
"""

from __future__ import annotations

import re

from callblocks.parsing.markers import Shape
from callblocks.parsing.shapes.json_values import MarkedValues
from callblocks.parsing.shapes.tags import Tag, attributed, attributes, literal
from callblocks.parsing.shapes.xml_form import TYPES, XmlForm
from callblocks.parsing.shapes.xml_tags import XmlTags

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
        wrapper=_tag("<", wrapper, ">", others),
        wrapper_end=_tag("</", wrapper, ">", others),
        call=_opening("invoke"),
        call_end=_tag("</", "invoke", ">", (), "invo"),
        argument=_opening("parameter"),
        argument_end=_tag("</", "parameter", ">", (), "para"),
        json_bodies=True,
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
    return Tag(f"<{DSML}{name}>", exact, others=[Shape(("<", *_BARS, *rest))])


def _tag(before: str, name: str, after: str, others: tuple[str, ...], start: str = "") -> Tag:
    known = [_loose(before, one, after) for one in (name, *others)]
    if start:
        known.append(Shape((*literal(before).atoms, *_BARS, *start, "[A-Za-z_]{0,20}", after)))
    return Tag(
        f"{before}{DSML}{name}{after}", literal(f"{before}{DSML}{name}{after}"), others=known
    )


def _loose(before: str, name: str, after: str) -> Shape:
    return Shape((*literal(before).atoms, *_BARS, *map(re.escape, name), after))
