"""Kimi K3's calls, in XTML::

    <|open|>tools<|sep|><|open|>call tool="NAME" index="1"<|sep|>
    <|open|>argument key="KEY" type="string"<|sep|>VALUE<|close|>argument<|sep|>
    <|close|>call<|sep|><|close|>tools<|sep|>

A string is raw text, any other type JSON. In attributes `&` and `"` are escaped. Prose stands in a
`response` element, reasoning in a `think` element.
"""

from __future__ import annotations

from html import escape, unescape

from callblocks.parsing.engine.markers import Shape, respelt_atoms
from callblocks.parsing.readers.foreign_body import Bodies
from callblocks.parsing.readers.tags import (
    BLANKS,
    TYPES,
    Beside,
    Tag,
    XmlForm,
    XmlTags,
    attributes,
    closing,
    literal,
)
from callblocks.parsing.shapes.tag_arguments import Framed, MarkedValues

__all__ = ("KimiK3",)

# Attributes up to the next token. A `<` that begins no token is part of a value.
_ATTRIBUTES = "(?:[^<]|<(?![|｜])){1,400}"
_OPEN, _CLOSE, _SEP = (respelt_atoms(one) for one in ("<|open|>", "<|close|>", "<|sep|>"))
_GAP = "[ \\t]{0,9}"


def _opening(name: str) -> Tag:
    """Return a tag whose attributes have a name; as `name="NAME"` it is misspelt."""
    start, end = literal(f"<|open|>{name} ").atoms, literal("<|sep|>").atoms
    spaced = (*_OPEN, _GAP, *literal(f"{name} ").atoms, _ATTRIBUTES, *_SEP)
    exact = Shape((*start, r"(?![^|]{0,400}\bname=)", _ATTRIBUTES, *end))
    return Tag(f"<|open|>{name}<|sep|>", exact, others=[Shape(spaced)], covered=True)


def _framing(kind: tuple[str, ...], text: str) -> Tag:
    """Return a tag without attributes; models put blanks around its name, or use other bars."""
    name = text.removesuffix("<|sep|>").rpartition("|>")[2]
    spaced = Shape((*kind, _GAP, *literal(name).atoms, _GAP, *_SEP))
    return closing(text, others=[spaced])


# An element with all arguments as one JSON object; outside of a call, with its name, too.
_ELEMENT = (*_OPEN, _GAP, *literal("json").atoms, "(?:[^<]|<(?![|｜])){0,400}", *_SEP)
_JSON = (
    Shape((*_ELEMENT, BLANKS, "\\{")),
    Shape((*_CLOSE, _GAP, *literal("json").atoms, _GAP, *_SEP)),
)


class KimiK3(Framed, MarkedValues):
    """`call` and `argument` elements of XTML, in `tools`."""

    name = "kimi_k3"
    summary = "<|open|>call with <|open|>argument elements, in <|open|>tools"
    syntax = (
        '<|open|>tools<|sep|><|open|>call tool="NAME" index="1"<|sep|>'
        '<|open|>argument key="KEY" type="string"<|sep|>VALUE<|close|>argument<|sep|>'
        "<|close|>call<|sep|><|close|>tools<|sep|>"
    )
    rules = (
        "A call is a `call` element inside `tools`, with its number among them as `index`. Each "
        "argument stands in its own `argument` element.",
        "The `type` of an argument is `string`, `number`, `boolean`, `null`, `object` or `array`. "
        "Write a string as it is, without quotes; write any other value as JSON.",
        'In a name write `&amp;` for `&` and `&quot;` for `"`. Close every element.',
    )
    reasoning = (("<|open|>think<|sep|>", "<|close|>think<|sep|>"),)
    calls_end_reasoning = True
    reasoning_breaks = ("<|open|>response<|sep|>",)
    # Frames of messages, which are markup, with and without blanks around the name.
    frames = tuple(
        f"<|{what}|>{gap}{name}{gap}<|sep|>"
        for what, name in (
            ("open", "response"),
            ("close", "response"),
            ("open", 'message role="assistant"'),
            ("close", "message"),
        )
        for gap in ("", " ")
    )
    tags = XmlTags(
        wrapper=_framing(_OPEN, "<|open|>tools<|sep|>"),
        wrapper_end=_framing(_CLOSE, "<|close|>tools<|sep|>"),
        call=_opening("call"),
        call_end=_framing(_CLOSE, "<|close|>call<|sep|>"),
        argument=_opening("argument"),
        argument_end=_framing(_CLOSE, "<|close|>argument<|sep|>"),
        beside=Beside(
            json_element=_JSON,
            outer=("<|close|>message<|sep|>", "<|open|>message", "<|open|>response<|sep|>"),
        ),
    )
    form = XmlForm(
        wrapper=("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
        head=('<|open|>call tool="', '"<|sep|>'),
        number='" index="',
        end="<|close|>call<|sep|>",
        key=('<|open|>argument key="', '"<|sep|>'),
        value_end="<|close|>argument<|sep|>",
        shared=True,
        marks={kind: f'" type="{kind.replace("integer", "number")}' for kind in TYPES},
    )

    @property
    def bodies_between(self) -> Bodies:
        tools, ending = self.form.wrapper
        closing = ("<|close|>json<|sep|>", ending)
        elements = Shape(_ELEMENT), Shape((*literal(tools).atoms, BLANKS, *_ELEMENT))
        both = ("".join(closing), "\n".join(closing))
        return Bodies((tools, *elements), (*closing, *both), notation="tags")

    def is_text(self, opening: str) -> bool:
        return attributes(opening).get("type") == "string"

    def name_in(self, opening: str) -> str:
        return _attribute(opening, "tool")

    def key_in(self, opening: str) -> str:
        return _attribute(opening, "key")

    # XTML escapes only `&` and `"` in attributes; `html.escape` escapes three more characters.
    def written_name(self, name: str) -> str:
        return escape(name).replace("&lt;", "<").replace("&gt;", ">").replace("&#x27;", "'")


def _attribute(opening: str, key: str) -> str:
    """Return an attribute of a tag, also under the key `name`, which models write for any other."""
    given = attributes(opening)
    return unescape(given.get(key) or given.get("name", ""))
