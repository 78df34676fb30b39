"""Muse Glimmer's calls, in ATEM::

    <|start|>assistant to=NAME<|message|><atem:function_calls>
    <atem:invoke name="NAME">
    <atem:parameter name="KEY">VALUE</atem:parameter>
    </atem:invoke>
    </atem:function_calls><|eom|>

The header names the recipient of a message: `to=self` is reasoning, `to=user` is prose, even if it
quotes a call. The start of the first header may stand in the prompt. A doubled name, `now.now`, is
read as the single name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from callblocks.core.events import Reasoning, Text
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape, respelt_atoms
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.engine.unread import UNREAD, tool_meant
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.foreign_body import Bodies
from callblocks.parsing.readers.tags import BLANKS, Beside, Tag, XmlForm, XmlTags, closing, literal
from callblocks.parsing.shapes.tag_arguments import RULES, Framed, JsonValues, invoke_tags

__all__ = ("MuseGlimmer",)

_TO = (*literal("to=").atoms, "[^\\s<]{1,200}", *literal("<|message|>").atoms)
# A header with a recipient. The second form lacks its start, which stood in the prompt: it counts
# only at the start of a text (see `read`).
HEADERS = (
    Shape((*literal("<|start|>assistant").atoms, "[ \\t]{0,9}", *_TO)),
    Shape((" ?", *_TO), at_line_start=True),
)
ENDS = ("<|eom|>", "<|eot|>")
START = "<|start|>assistant"
# Damaged headers before a wrapper: without a recipient, and with other bars.
_NOBODY = (*respelt_atoms(START), "[ \\t]{0,9}", *respelt_atoms("<|message|>"))
_ANYBODY = (
    *(*respelt_atoms(START), "[ \\t]{0,9}", *literal("to=").atoms),
    *("[^\\s<]{1,200}", *respelt_atoms("<|message|>")),
)
_ENDS, _THOUGHT_ENDS, _STARTS = Markers(*ENDS), Markers(*ENDS, START), Markers(START)
END = "</atem:function_calls>"
_TAGS = invoke_tags("function_calls", ("atem:",))
_WRAPPER = literal("<atem:function_calls>").atoms
_MESSAGE = "<|message|>"
_WORD = re.compile(r"[\w-]+")
_RECIPIENT = re.compile(r"to=([^\s<]+)<\|message\|>\Z")


class MuseGlimmer(Framed, JsonValues):
    """`<atem:invoke name="…">`, `<atem:parameter name="…">`, in messages with a recipient."""

    name = "muse_glimmer"
    summary = "<atem:invoke> with <atem:parameter> tags, in messages to a tool"
    syntax = (
        "<|start|>assistant to=NAME<|message|><atem:function_calls>\n"
        '<atem:invoke name="NAME">\n<atem:parameter name="KEY">VALUE</atem:parameter>\n'
        "</atem:invoke>\n</atem:function_calls><|eom|>"
    )
    rules = (
        'A call is an `<atem:invoke name="NAME">` inside `<atem:function_calls>`. Each argument '
        'stands in its own `<atem:parameter name="KEY">`.',
        *RULES,
    )
    frames = ENDS
    tags = XmlTags(
        wrapper=Tag(
            "<|start|>assistant to=NAME<|message|><atem:function_calls>",
            *(
                Shape((*header.atoms, BLANKS, *_WRAPPER), header.at_line_start)
                for header in HEADERS
            ),
            others=[
                Shape((*_ANYBODY, BLANKS, *_WRAPPER)),
                Shape((*_NOBODY, BLANKS, *_WRAPPER)),
                Shape((*respelt_atoms("<|message|>"), BLANKS, *_WRAPPER)),
                # Without the wrapper a call counts only in a message to a tool (see `read`).
                Shape(HEADERS[0].atoms),
            ],
        ),
        wrapper_end=closing(
            END,
            *(f"{END}{end}" for end in ENDS),
            others=[Shape((*literal(END).atoms, *respelt_atoms(end))) for end in ENDS],
        ),
        call=_TAGS.call,
        call_end=_TAGS.call_end,
        argument=_TAGS.argument,
        argument_end=_TAGS.argument_end,
        beside=Beside(outer=(*ENDS, START)),
    )
    form = XmlForm(
        head=('<atem:invoke name="', '">\n'),
        end=f"</atem:invoke>\n{END}<|eom|>",
        key=('<atem:parameter name="', '">'),
        value_end="</atem:parameter>\n",
    )

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (*self.tags.wrapper.shapes, *HEADERS, *ENDS)

    @property
    def bodies_between(self) -> Bodies | None:
        closing = (f"{END}{end}" for end in ("", *ENDS))
        return Bodies(self.tags.wrapper.shapes, tuple(closing), notation="tags")

    def read(self, block: Block) -> Reading[Refused | None]:
        if not block.opening.startswith("<") and not block.at_start:
            return block.refuse(expected="the start of the text", at=block.start)
        recipient = _RECIPIENT.search(block.opening)
        if recipient is None:
            return (yield from super().read(block))
        is_thought = recipient[1] == "self"
        may_be_call = not is_thought and recipient[1] != "user" and not block.stage.strict
        if may_be_call and (yield from block.stands(self.tags.first)):
            return (yield from super().read(block))
        block.markup()
        # An answer may quote the start of a message, so only its own end ends it. A thought with
        # such a start lacks its end marker: it ends there.
        ends = _THOUGHT_ENDS if is_thought and not block.stage.strict else _ENDS
        start, parts = block.stage.said, list[str]()
        kind = Reasoning if is_thought else Text
        yield from block.stage.stream(ends, kind, parts.append)
        if is_thought and block.stage.prose_log and _MESSAGE in "".join(parts):
            # The thought contains the damaged header of the next message: examine it for calls.
            block.stage.prose_log.open_thought(start, block.stage.said)
        if (yield from block.stands(_STARTS)):
            block.problem("missing-closer", f"{ENDS[0]} is missing")
        # A wrapper is part of the opener of a call. So this message has none, although it may be
        # addressed to a tool, perhaps misspelt: report it, as no call may be lost silently.
        words, tools = _WORD.findall(recipient[1]), block.stage.tools
        if name := next((name for word in words if (name := tool_meant(word, tools))), ""):
            detail = f"the message is for {name}, and has no call of it"
            block.problem(UNREAD, detail, (block.start, block.start + len(block.opening)))
        return None

    def name_in(self, opening: str) -> str:
        name = super().name_in(opening)
        first, _, second = name.partition(".")
        return first if first == second else name

    def head_of(self, name: str) -> str:
        header = f"<|start|>assistant to={name}<|message|><atem:function_calls>\n"
        return f"{header}{super().head_of(name)}"
