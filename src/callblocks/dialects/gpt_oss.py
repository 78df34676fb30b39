"""gpt-oss (Harmony): messages in channels, of which some are for tools::

    <|channel|>analysis<|message|>Where is it?<|end|><|start|>assistant
    <|channel|>commentary to=functions.ls <|constrain|>json<|message|>{"path": "."}<|call|>

The text continues behind `<|start|>assistant`, which ends the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from callblocks.core.calls import Call, Item, Thought
from callblocks.core.errors import Unwritable
from callblocks.core.events import Reasoning, Text
from callblocks.core.specs import ToolSpec
from callblocks.parsing.dialect import Dialect
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.ids import GENERAL_CODES
from callblocks.parsing.engine.markers import Markers, Shape, line
from callblocks.parsing.engine.openers import read_strays
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.grammar.argument_rules import input_rule
from callblocks.parsing.grammar.expressions import alt, lit, many, opt, seq, until
from callblocks.parsing.grammar.grammar import Grammar
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.announce import raw_input, read_input
from callblocks.parsing.values.schema_shape import in_schema_order
from callblocks.parsing.values.strict_json import JsonScan, ScanState, write_json

__all__ = (
    "CHANNEL",
    "CHANNELS",
    "CONSTRAIN",
    "ENDS",
    "MESSAGE",
    "OPENERS",
    "START",
    "TO",
    "GptOss",
    "Header",
    "read_header",
    "read_message",
)

# --- Messages in channels, one after the other ---
#
#     <|channel|>analysis<|message|>Where is it?<|end|>
#     <|start|>assistant<|channel|>commentary to=functions.ls <|constrain|>json<|message|>{}<|call|>
#
# A message in `analysis` is reasoning, one addressed to a tool is a call, any other is prose. A
# message ends with a marker, at the start of the next one, or with the text: servers cut off the
# last marker. A header without `<|message|>` ends with its line; if its channel is known the
# message follows it, otherwise the line stays prose.


# --- The header of a message in channels; its parts may stand in any order ---
#
#     <|start|>assistant to=functions.ls<|channel|>commentary <|constrain|>json<|message|>
#
# Models write parts twice, or leave them out. The last channel counts, and the last recipient that
# is a tool. Other words are `junk`: the caller decides whether a header with junk is one.

START, CHANNEL, CONSTRAIN, MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
CHANNELS = ("analysis", "commentary", "final")
PEOPLE = ("assistant", "user", "system", "developer", "all")

# The parts of a header, in the order of preference. The last alternative matches any other word, so
# the whole header is covered and nothing is skipped silently.
_PART = re.compile(
    r"<\|start\|>(?P<role>[^\s<]*)"
    rf"|<\|channel\|>\s?(?P<channel>{'|'.join(CHANNELS)})?"
    r"|<\|constrain\|>\s?(?P<kind>[\w.+/-]*)"
    r"|\bto=(?P<to>[^\s<]+)"
    r"|(?P<word>json|code|text)\b"
    r"|\s+"
    r"|(?P<junk>[^\s<]+|<)"
)
_TOOL = "functions."


class Header(NamedTuple):
    """The parts of a header; `last` and `end` are the span of its last channel."""

    role: str
    channel: str
    recipient: str
    kind: str
    junk: str
    last: int
    end: int

    @property
    def tool(self) -> str:
        """The tool that the message is addressed to, or `""`."""
        return "" if self.recipient in PEOPLE else self.recipient.removeprefix(_TOOL)

    @property
    def is_json(self) -> bool:
        """True if the message must be JSON: functions take nothing else."""
        return self.recipient.startswith(_TOOL) and self.kind in ("", "json")


def read_header(text: str) -> Header:
    """Read a header up to where its message begins."""
    # A loop over parts and not one pattern for the whole header: with parts missing, doubled and in
    # any order, that pattern would have an alternative per permutation. A person as recipient
    # (`to=user`) never replaces a tool.
    role, channel, recipient, kind, junk, last, end = "", "", "", "", "", 0, 0
    for part in _PART.finditer(text):
        what = part.lastgroup
        found = part[what] if what else ""
        if what == "role":
            role = found or role
        elif what in ("kind", "word"):
            kind = found or kind
        elif what == "junk":
            junk = junk or found
        elif what == "to":
            recipient = found if not recipient or found not in PEOPLE else recipient
        elif part[0].startswith(CHANNEL):
            channel, last, end = found, part.start(), part.end()
    return Header(role, channel, recipient, kind, junk, last, end)


# --- Messages in channels, one after the other ---

ENDS = ("<|end|>", "<|call|>", "<|return|>")
# The rest of a header whose start stood in the prompt.
TO = (" to=functions.", "to=functions.")
OPENERS = (START, CHANNEL)
_HEAD_END = Markers(MESSAGE, START, *ENDS, "\n")
_BODY_END = Markers(START, CHANNEL, *ENDS)
_ENDS = Markers(*ENDS)
_STRAY_ENDS = Markers(*(Shape((r"[ \t\r\n]{0,100}", *map(re.escape, end))) for end in ENDS))


def read_message(block: Block) -> Reading[Refused | None]:
    """Read one message, or a stray end marker."""
    if block.opening in ENDS:
        return block.markup()
    if block.marker.lstrip("\n") in TO and not (block.at_start and block.opening in TO):
        return block.refuse(expected="the start of the text", at=block.start)
    rest, stop = yield from block.until(_HEAD_END)
    text = block.opening + rest
    header = read_header(text)
    if not block.stage.alone and not header.channel:
        expected, at = "a channel", block.start + len(block.opening)
        return block.refuse(until=block.offset - len(stop), expected=expected, at=at)
    if stop != MESSAGE:
        yield from _go_without(block, header, stop)
    elif read_header(text[: header.last]).junk:
        block.give_back(block.start + header.last)
        return block.prose(f"{block.dialect}.header", "there are words between its parts")
    else:
        yield from _read_body(block, header, text)
    if block.text.endswith(ENDS) and not block.stage.strict:
        yield from read_strays(block.stage, block.dialect, _STRAY_ENDS)
    return None


def _read_body(block: Block, header: Header, text: str) -> Reading[None]:
    if header.role not in ("", "assistant"):
        return block.prose(f"{block.dialect}.role", f"{header.role!r:.40} does not speak here")
    if header.tool:
        return (yield from _read_call(block, header))
    yield from _read_said(block, header.channel)
    if header.junk or not header.channel:
        block.problem(f"{block.dialect}.header", f"it says {text!r:.80}")
    return None


def _go_without(block: Block, header: Header, stop: str) -> Reading[None]:
    """Read a message whose header has no `<|message|>`: it begins behind the channel."""
    lacks = f"{block.dialect}.header", "`<|message|>` is missing"
    place = (block.start, block.offset)
    if not stop or header.tool or not header.channel:
        block.give_back(block.offset - len(stop))
        return block.prose(*lacks)
    block.give_back(block.start + header.end)
    yield from _read_said(block, header.channel)
    return block.problem(*lacks, place)


def _read_said(block: Block, channel: str) -> Reading[None]:
    """Emit the text of a message while it arrives, and its markers as markup."""
    stage, kind = block.stage, Reasoning if channel == "analysis" else Text
    stage.solid = True
    stage.say(kind("", stage.span()))
    yield from stage.stream(_BODY_END, kind)
    if (yield from block.match(_ENDS)):
        stage.say(kind("", stage.span()))


def _read_call(block: Block, header: Header) -> Reading[None]:
    # A function's body is JSON and is scanned, so that an end marker inside of a string is text. A
    # tool such as `python` receives raw text up to the next marker. Blanks around the JSON are
    # emitted as input, since the spans must tile.
    block.started(header.tool)
    mark = len(block.taken)
    first = yield from _say_blanks(block)
    scan = JsonScan(block.stage.limits.depth, exact=True)
    if header.is_json or (first == "{" and header.tool != "python"):
        yield from block.consume(scan, live=True)
    marker, cut = "", False
    if scan.state is ScanState.STOPPED:
        yield from _say_blanks(block)
        marker = yield from block.match(_ENDS)
        cut = not marker and block.ends_within(_ENDS)
    if not (marker or cut):
        _, marker = yield from block.stream(_BODY_END)
    body = "".join(block.taken[mark : -1 if cut else None]).removesuffix(marker)
    if marker in OPENERS:
        block.give_back(block.offset - len(marker))
    if scan.too_deep:
        return block.malformed("too-deep", f"more than {block.stage.limits.depth} levels")
    if not header.is_json and not scan.taken:
        tool = block.stage.tools.get(block.name)
        value = raw_input(tool, body)
        block.ready(value, size=len(body), ended=bool(marker))
        if tool and tool.properties and not value.keys() <= tool.properties.keys():
            detail = "the message is no JSON, and the tool has several parameters"
            block.problem("unbound-arguments", detail)
        return None
    return _say_json(block, body, bool(marker))


def _say_blanks(block: Block) -> Reading[str]:
    """Emit blanks as input; return the next character."""
    mark = len(block.taken)
    char = yield from block.peek()
    if block.offset > block.stage.said:
        block.input("".join(block.taken[mark:]))
    return char


def _say_json(block: Block, body: str, is_ended: bool) -> None:
    stage = block.stage
    depth = stage.limits.depth
    try:
        value, repairs = (
            read_input(body, ended=is_ended, strict=stage.strict, depth=depth)
            if body.strip() or not is_ended
            else ({}, ())
        )
    except ValueError as error:
        return block.malformed(f"{block.dialect}.arguments", str(error))
    # The end marker of a call is a stop token, which a server may cut off: JSON that closes by
    # itself counts as ended.
    ended = is_ended or "repaired-closing" not in repairs
    block.ready(value, size=len(body), ended=ended)
    for repair in repairs:
        block.problem(repair, GENERAL_CODES[repair])
    return None


NEXT = "<|start|>assistant"
THOUGHT = "<|channel|>analysis<|message|>"
SAID = "<|channel|>commentary<|message|>"
FINAL = "<|channel|>final<|message|>"
CALL = "<|channel|>commentary to=functions."
INPUT = " <|constrain|>json<|message|>"

BEGUN = tuple(line(recipient, indent="") for recipient in TO)


class GptOss(Dialect):
    """`<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>`."""

    name = "gpt_oss"
    summary = "gpt-oss (Harmony): channels of messages, some of them for functions"
    syntax = f"{CALL}NAME{INPUT}{{…}}<|call|>"
    rules = (
        "Every message begins with `<|channel|>` and the channel: `analysis` for what you think, "
        "`commentary` for calls and what you say about them, `final` for your answer.",
        "A call is a message in `commentary` for `functions.` and the tool's name; its body is one "
        "JSON object with the arguments.",
        "End a call with `<|call|>`, your answer with `<|return|>`, any other message with "
        "`<|end|>`; after that write `<|start|>assistant` before the next message.",
    )
    codes: ClassVar = {
        "gpt_oss.header": "a message's header is not as it should be",
        "gpt_oss.role": "a message of somebody else than the assistant",
        "gpt_oss.arguments": "the arguments of a call are not a JSON object",
    }
    keeps_ids = False
    reasoning = ((THOUGHT, "<|end|>"),)
    # The header of any message ends a thought without `<|end|>`.
    reasoning_breaks = OPENERS

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        # ` to=functions.` begins with a blank. As an opener of `auto` it would stop the search at
        # every blank of every text, so there it must begin a line.
        return (*OPENERS, *TO, *ENDS) if setting.alone else (*OPENERS, *BEGUN)

    def read(self, block: Block) -> Reading[Refused | None]:
        return (yield from read_message(block))

    def compose(self, items: Sequence[Item], tools: Mapping[str, ToolSpec]) -> str:
        messages: list[str] = []
        for at, item in enumerate(items, 1):
            if isinstance(item, Call):
                messages.append(self._compose_call(item, tools.get(item.name)))
            elif isinstance(item, Thought):
                messages.append(item)  # it comes in its channel
            elif isinstance(item, str):
                is_last = at == len(items)
                messages.append(f"{FINAL}{item}<|return|>" if is_last else f"{SAID}{item}<|end|>")
            else:
                raise Unwritable(self.name, f"the result of {item.id!r}: a model writes none")
        return NEXT.join(messages)

    def _compose_call(self, call: Call, tool: ToolSpec | None) -> str:
        value = in_schema_order(call.input, tool.parameters) if tool else call.input
        return f"{CALL}{call.name}{INPUT}{write_json(self.name, value)}<|call|>"

    def constrain(self, grammar: Grammar, tools: Sequence[ToolSpec]) -> None:
        """Add rules for reasoning, prose and calls, and then an answer or nothing more."""
        calls = (seq(lit(f"{tool.name}{INPUT}"), input_rule(grammar, tool)) for tool in tools)
        call = grammar.rule("call", seq(lit(CALL), alt(*calls), lit("<|call|>")))
        if not grammar.prose:
            row = grammar.row(call, lit(NEXT))
            grammar.rule("root", opt(row) if grammar.calls == "any" else row)
            return
        body = grammar.rule("message", until(["<|end|>"]))
        said = grammar.rule("said", seq(alt(lit(THOUGHT), lit(SAID)), body))
        final = seq(lit(FINAL), grammar.rule("answer", until(["<|return|>"])))
        words = many(seq(said, lit(NEXT)))
        answer = seq(words, final)
        calls = seq(grammar.row(seq(words, call), lit(NEXT)), opt(seq(lit(NEXT), answer)))
        grammar.rule("root", opt(alt(answer, calls)) if grammar.calls == "any" else calls)
