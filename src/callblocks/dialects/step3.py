"""Step3's calls::

<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="NAME">
<steptml:parameter name="KEY">VALUE</steptml:parameter>
</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>
"""

from __future__ import annotations

from callblocks.parsing.engine.markers import Shape
from callblocks.parsing.readers.tags import (
    BLANKS,
    Tag,
    XmlForm,
    XmlTags,
    attributed,
    closing,
    literal,
    misspelt,
    respelt,
)
from callblocks.parsing.shapes.tag_arguments import RULES
from callblocks.parsing.shapes.xml_parameters import XmlParameters

__all__ = ("Step3",)

BEGIN, END = "<｜tool_call_begin｜>function<｜tool_sep｜>", "<｜tool_call_end｜>"


def _respelt(text: str) -> Shape:
    """Return a token with ASCII bars, or with the blank of DeepSeek's tokens."""
    return Shape(tuple(atom.replace("_", "[_▁]") for atom in respelt(text).atoms))


_INVOKE, _INVOKE_END = attributed("<steptml:invoke"), literal("</steptml:invoke>")
_BEGIN, _END = literal(BEGIN), literal(END)
_ANY_BEGIN, _ANY_END = _respelt(BEGIN), _respelt(END)


class Step3(XmlParameters):
    """`<steptml:invoke name="…">` between special tokens."""

    name = "step3"
    summary = "<steptml:invoke> with <steptml:parameter> tags, between <｜tool_call_begin｜> tokens"
    syntax = (
        f'<｜tool_calls_begin｜>{BEGIN}<steptml:invoke name="NAME">\n'
        '<steptml:parameter name="KEY">VALUE</steptml:parameter>\n'
        f"</steptml:invoke>{END}<｜tool_calls_end｜>"
    )
    rules = (
        'A call is a `<steptml:invoke name="NAME">` between the tokens shown. Several calls stand '
        "one after the other in one `<｜tool_calls_begin｜>`.",
        'Each argument stands in its own `<steptml:parameter name="KEY">`.',
        *RULES[:-1],
    )
    reasoning = (("<think>", "</think>"),)
    tags = XmlTags(
        wrapper=closing("<｜tool_calls_begin｜>", others=[_respelt("<｜tool_calls_begin｜>")]),
        wrapper_end=closing("<｜tool_calls_end｜>", others=[_respelt("<｜tool_calls_end｜>")]),
        # The token and the tag behind it are one tag. Models drop the token, or half of it, or
        # write it as DeepSeek does.
        call=Tag(
            "<steptml:invoke>",
            Shape((*_BEGIN.atoms, BLANKS, *_INVOKE.atoms)),
            others=[
                Shape((*_ANY_BEGIN.atoms, BLANKS, *_INVOKE.atoms)),
                Shape((*_respelt("<｜tool_call_begin｜>").atoms, BLANKS, *_INVOKE.atoms)),
                _INVOKE,
            ],
        ),
        call_end=Tag(
            "</steptml:invoke>",
            Shape((*_INVOKE_END.atoms, BLANKS, *_END.atoms)),
            others=[
                Shape((*_INVOKE_END.atoms, BLANKS, *_ANY_END.atoms)),
                _ANY_END,
                misspelt("</steptml:invo"),
            ],
        ),
        argument=Tag("<steptml:parameter>", attributed("<steptml:parameter")),
        argument_end=closing(
            "</steptml:parameter>", others=[misspelt("</steptml:para")], covered=True
        ),
    )
    form = XmlForm(
        wrapper=("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),
        head=(f'{BEGIN}<steptml:invoke name="', '">\n'),
        end=f"</steptml:invoke>{END}",
        key=('<steptml:parameter name="', '">'),
        value_end="</steptml:parameter>\n",
        shared=True,
    )
