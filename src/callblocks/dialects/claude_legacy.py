"""Function calls as Claude's prompts of 2023 showed them::

<function_calls>
<invoke>
<tool_name>NAME</tool_name>
<parameters>
<KEY>VALUE</KEY>
</parameters>
</invoke>
</function_calls>
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from callblocks.core.calls import Result
from callblocks.core.specs import ToolSpec
from callblocks.parsing.engine.block import Block, Refused
from callblocks.parsing.engine.markers import Markers, Shape, without_line_ends
from callblocks.parsing.engine.parse_state import Reading
from callblocks.parsing.loop import Setting
from callblocks.parsing.readers.announce import BadBody
from callblocks.parsing.readers.tags import (
    BLANKS,
    NOTHING,
    Tag,
    XmlForm,
    XmlTags,
    as_text,
    closing,
    literal,
)
from callblocks.parsing.shapes.element_bodies import ElementBodies
from callblocks.parsing.shapes.elements import read_tree
from callblocks.parsing.shapes.xml_call import Input

__all__ = ("ClaudeLegacy",)

RESULTS = "<function_results>"
# Results end at their tag. A wrapper of calls in between means that the tag is missing, and that
# this is no row of results: waiting further would swallow the calls.
_RESULTS_END = Markers("</function_results>", "<function_calls>")
_TAG = re.compile(r"<(/?)(result|tool_name|stdout|error)>")
_NAME = re.compile(r"<tool_name>\s*(.*?)\s*</tool_name>", re.DOTALL)
_PARAMETERS = re.compile(r"\s*<parameters>(.*)</parameters>\s*", re.DOTALL)
_OPENED = re.compile(r"\s*<parameters>")


class ClaudeLegacy(ElementBodies):
    """`<invoke>`, `<tool_name>` and `<parameters>`, in `<function_calls>`."""

    name = "claude_legacy"
    summary = "<invoke> with <tool_name> and <parameters>, in <function_calls>"
    syntax = (
        "<function_calls>\n<invoke>\n<tool_name>NAME</tool_name>\n<parameters>\n"
        "<KEY>VALUE</KEY>\n</parameters>\n</invoke>\n</function_calls>"
    )
    rules = (
        "A call is an `<invoke>` inside `<function_calls>`: the tool's name in `<tool_name>`, then "
        "`<parameters>` with a tag for each argument.",
        "Write text as it is, without quotes and without escapes. Write numbers, booleans, lists "
        "and objects as JSON.",
        "A call without arguments has nothing in its `<parameters>`. Close every tag.",
    )
    tags = XmlTags(
        wrapper=closing("<function_calls>"),
        wrapper_end=closing("</function_calls>"),
        call=Tag(
            "<invoke><tool_name>NAME</tool_name>",
            Shape(
                (
                    *literal("<invoke>").atoms,
                    BLANKS,
                    *literal("<tool_name>").atoms,
                    "[^<]{1,200}",
                    *literal("</tool_name>").atoms,
                )
            ),
        ),
        call_end=closing("</invoke>"),
        argument=NOTHING,
        argument_end=NOTHING,
    )
    form = XmlForm(
        wrapper=("<function_calls>\n", "</function_calls>"),
        head=("<invoke>\n<tool_name>", "</tool_name>\n<parameters>\n"),
        end="</parameters>\n</invoke>\n",
        key=("<", ">"),
        value_end="",
        shared=True,
    )

    def openers(self, setting: Setting) -> Sequence[str | Shape]:
        return (RESULTS, *super().openers(setting))

    def read(self, block: Block) -> Reading[Refused | None]:
        if block.opening != RESULTS:
            return (yield from super().read(block))
        text, end = yield from block.until(_RESULTS_END)
        # Results have no ids: they belong to the last calls of the text, in order. More results
        # than calls are prose that quotes such a row.
        found = _outcomes(text) if end == "</function_results>" else []
        ready = block.stage.ready[-len(found) :]
        if not 0 < len(found) <= len(ready):
            expected, at = "the results of the calls before it", block.start
            return block.refuse(until=block.offset - len(end), expected=expected, at=at)
        for (id_, index), outcome in zip(ready, found, strict=True):
            block.result(Result(id=id_, **outcome), index)
        return None

    def results(self, results: Sequence[Result], names: Mapping[str, str]) -> str:
        rows = "".join(_written(self.name, result, names) for result in results)
        return f"{RESULTS}\n{rows}</function_results>"

    def name_in(self, opening: str) -> str:
        found = _NAME.search(opening)
        return found[1] if found else ""

    def is_whole_body(self, text: str, tool: ToolSpec | None, *, is_all: bool) -> bool:
        # `</invoke>` inside of a value is text; the real one follows `</parameters>`. A model that
        # leaves `<parameters>` out is judged by its elements instead.
        if is_all and "<parameters>" not in text:
            return super().is_whole_body(text, tool, is_all=True)
        return text.rstrip().endswith("</parameters>")

    def read_body(self, body: str, tool: ToolSpec | None, depth: int) -> Input:
        if inner := _PARAMETERS.fullmatch(body):
            return super().read_body(inner[1], tool, depth)
        opened = _OPENED.match(body)
        value, problems = super().read_body(body[opened.end() if opened else 0 :], tool, depth)
        missing = [("missing-closer", "</parameters> is missing")] if opened else []
        return value, [*missing, *problems]


def _outcomes(text: str) -> list[dict[str, str]]:
    """Return the outcomes in order; none if the text is no row of results."""
    try:
        rows = read_tree(text, _TAG, depth=2)
    except BadBody:
        return []
    found: list[dict[str, str]] = []
    for name, row in rows:
        said = {"error": row} if name == "error" else dict(row if isinstance(row, list) else ())
        outcome = said.get("stdout", said.get("error"))
        if not isinstance(outcome, str):
            return []
        bare = without_line_ends(outcome)
        found.append({"error" if name == "error" else "output": bare})
    return found


def _written(dialect: str, result: Result, names: Mapping[str, str]) -> str:
    if result.error is not None:
        return f"<error>\n{result.error}\n</error>\n"
    name, text = names.get(result.id, ""), as_text(dialect, result.output)
    return f"<result>\n<tool_name>{name}</tool_name>\n<stdout>\n{text}\n</stdout>\n</result>\n"
