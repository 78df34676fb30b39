r"""What no text of a block may say to a model beside the markers of dialects.

    [TOOL RESULT abc].result      the headers of the view itself, in any case
    [hidden; …]  (about 9 tokens, too many …)  (folded, about …)   its placeholders
    <image media_type=…>  ── cache point ──       what stands for parts where there is only text
    <think>  [/THINK]  ◁think▷    where reasoning begins and ends
    <|im_start|>  [INST]  <s>     the control tokens of chat templates
    ✅ **`ls` result:**            what would be the result of a call that stands before it

A row is a marker like those of dialects: a literal, or a `Shape` whose first atom is one
character.
"""

from __future__ import annotations

import re

from callblocks.parsing.markers import Shape

__all__ = (
    "CONTROLS",
    "HEADERS",
    "HIDDEN",
    "PLACEHOLDERS",
    "REASONING",
    "RESERVED",
    "RESULTS",
)

HIDDEN = "[hidden;"
"""How a placeholder begins."""

_WORDS = (
    "tool {1,3}(?:call|result)",
    "ai {1,3}agent",
    "user {1,3}(?:say|attachment)",
    "hidden;",
    "folded\\]",
    "damaged {1,3}block",
    "unknown {1,3}block",
)
HEADERS = tuple(Shape((re.escape("["), f" {{0,3}}(?i:{words})")) for words in _WORDS)

PLACEHOLDERS = (
    Shape((re.escape("("), " {0,3}(?i:about {1,3}\\S{1,20} {1,3}tokens, {1,3}too {1,3}many)")),
    Shape((re.escape("("), " {0,3}(?i:folded, {1,3}about)")),
    Shape(("<", "(?i:image|document) {1,3}(?i:media_type)")),
    Shape(("─", "─{0,3} {0,3}(?i:cache {1,3}point)")),
)

REASONING = (
    Shape(("<", "/?(?i:(?:[a-z]{2,10}:)?(?:think|thinking|thought|reasoning|reflection))>")),
    Shape((re.escape("["), "/?THINK\\]")),
    Shape(("◁", "/?think▷")),
)

_BRACKETED = (
    "INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|ARGS"
    "|IMG|IMG_BREAK|IMG_END|PREFIX|MIDDLE|SUFFIX|BEGIN FINAL RESPONSE|END FINAL RESPONSE"
)
_TAGGED = (
    "s|bos|eos|pad|unk|mask|start_of_turn|end_of_turn|start_of_image|start_function_call"
    "|end_function_call|tools|tool_calls?|tool_responses?|tool_results?|function_calls?|use_mcp_tool"
    "|function_results?|function=[^<>\\s]{1,100}|invoke(?: [^<>]{0,200})?"
)
CONTROLS = (
    Shape(("<", "/?[|｜]")),
    Shape(("<", "[\\w:.-]{1,40}[|｜]>")),
    Shape(("<", f"/?(?:[a-z]{{2,10}}:)?(?:{_TAGGED})>")),
    Shape(("<", "/?antml:")),
    Shape(("<", "0x[0-9A-F]{2}>")),
    Shape(("<", "</?SYS>>")),
    Shape((re.escape("["), f"/?(?:{_BRACKETED})\\]")),
    "｜DSML｜",
    "|DSML|",
    "]<]minimax[>[",
    Shape(("(?:Human|Assistant):",), at_line_start=True),
)

RESULTS = (Shape(("✅", "\ufe0f?[^\\S\\n]{0,100}\\*\\*[^\\S\\n]{0,100}`")),)

RESERVED: tuple[str | Shape, ...] = (*HEADERS, *PLACEHOLDERS, *REASONING, *CONTROLS, *RESULTS)
"""Every row."""
