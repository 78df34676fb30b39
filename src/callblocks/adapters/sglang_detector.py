"""SGLang: any dialect as `--tool-call-parser callblocks:DIALECT`.

The entry point `sglang.srt.plugins` calls `register` before the arguments are read. It enters one
detector for each dialect that models write into the table of SGLang's parsers, and `callblocks` for
all of them at once. A detector is told when a stream ends, so a call that ends with the text is
read, too; versions without that word lose it.
"""

# pyright: basic, reportMissingImports=false, reportUntypedBaseClass=false
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser

from callblocks.adapters.text_tools import Reply, ReplyReader, TextTools, Words, functions_of
from callblocks.core.calls import Call
from callblocks.core.json_values import json_text
from callblocks.dialects import dialects

__all__ = ("CallblocksDetector", "register")

NAME = "callblocks"
# Every dialect has one of these in each call.
_MAY_CALL = re.compile(r"[<\[{(`]")


def register() -> None:
    """Enter our detectors into the table of SGLang; called once in each of its processes."""
    table = FunctionCallParser.ToolCallParserEnum
    table[NAME] = CallblocksDetector
    for one in dialects.values():
        if one.rules:
            made = type(f"Callblocks_{one.name}", (CallblocksDetector,), {"dialect": one.name})
            table[f"{NAME}:{one.name}"] = made


class CallblocksDetector(BaseFormatDetector):
    """Reads calls as the dialect has them; whole and streamed by the same reader."""

    dialect = ""

    def __init__(self) -> None:
        super().__init__()
        self._reader: ReplyReader | None = None
        self._calls = 0

    def has_tool_call(self, text: str) -> bool:
        # SGLang reads no further without this. The tools are not known here, so whatever may be a
        # call is one; `detect_and_parse` knows.
        return _MAY_CALL.search(text) is not None

    def detect_and_parse(self, text: str, tools: Sequence[Any]) -> Any:
        reader = self._new_reader(tools)
        result = _result([*reader.feed(text), *reader.close()], 0)
        return result if result.calls else StreamingParseResult(normal_text=text)

    def parse_streaming_increment(self, new_text: str, tools: Sequence[Any]) -> Any:
        if self._reader is None:
            self._reader = self._new_reader(tools)
        return self._streamed(self._reader.feed(new_text))

    def finish(self, tools: Sequence[Any]) -> Any:
        reader, self._reader = self._reader, None
        return self._streamed(reader.close() if reader is not None else [])

    def supports_structural_tag(self) -> bool:
        # Demanded calls come as JSON, which SGLang reads itself.
        return False

    def structure_info(self) -> Any:
        raise NotImplementedError(f"{NAME} has no structural tags")

    def _new_reader(self, tools: Sequence[Any]) -> ReplyReader:
        return TextTools(functions_of(tools), dialect=self.dialect).reader(thoughts=False)

    def _streamed(self, found: Sequence[Reply]) -> Any:
        result = _result(found, self._calls)
        self._calls += len(result.calls)
        return result


def _result(found: Sequence[Reply], first: int) -> Any:
    """Return replies as SGLang wants them; calls are numbered from `first`."""
    calls = [one for one in found if isinstance(one, Call)]
    return StreamingParseResult(
        normal_text="".join(one.text for one in found if isinstance(one, Words)),
        calls=[
            ToolCallItem(tool_index=at, name=call.name, parameters=json_text(call.input))
            for at, call in enumerate(calls, first)
        ],
    )
