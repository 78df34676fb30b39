"""`llm`: every installed model, with tools.

    llm -m callblocks/MODEL -T llm_time "What time is it?"

An entry point of this module (group `llm`) registers, for each model of the other plugins that has
no tools, a second one with `callblocks/` before its name. The model is asked without tools; they
are taught in its prompt, and its calls are read from what it writes, as they come. What was asked
and called is in the log of `llm`, as with other models.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from llm.parts import StreamEvent

import llm
from callblocks.adapters.text_tools import Reply, TextTools, Thought, Words
from callblocks.core.calls import Call
from callblocks.core.json_values import json_text

__all__ = ("CallblocksModel", "register_models")

PREFIX = "callblocks/"


@llm.hookimpl(trylast=True)
def register_models(register: Any, model_aliases: Sequence[Any]) -> None:
    """Register each model that has no tools once more, with them."""
    for known in list(model_aliases):
        model = known.model
        if model is not None and not model.supports_tools and not _is_ours(model):
            register(CallblocksModel(model))


def _is_ours(model: Any) -> bool:
    return model.model_id.startswith(PREFIX)


class CallblocksModel(llm.Model):
    """A model of another plugin, with tools."""

    can_stream = True
    supports_tools = True

    def __init__(self, inner: Any, dialect: str = "") -> None:
        self.inner = inner
        self.model_id = f"{PREFIX}{inner.model_id}"
        self.Options = inner.Options
        self._dialect = dialect

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[Any]:
        tools = TextTools(
            [_spec(one) for one in prompt.tools], dialect=self._dialect, model=self.inner.model_id
        )
        system, text = _asked(prompt, tools)
        options = prompt.options.model_dump(exclude_none=True)
        answer = self.inner.prompt(text, system=system or None, stream=stream, **options)
        reader = tools.reader()
        for piece in answer:
            yield from _events(reader.feed(piece), response)
        yield from _events(reader.close(), response)


def _spec(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.input_schema or {},
    }


def _asked(prompt: Any, tools: TextTools) -> tuple[str, str]:
    """Return the system prompt and the whole talk as one text: such models take no more."""
    system = prompt.system or ""
    lines: list[tuple[str, str]] = []
    for message in prompt.messages:
        said = _said(message, tools)
        if message.role == "system":
            continue
        if said:
            lines.append((message.role, said))
    if len(lines) == 1:
        return tools.system(system), lines[0][1]
    names = {"assistant": "You", "user": "Person", "tool": "Results"}
    talk = [f"{names.get(role, role)}: {said}" for role, said in lines]
    return tools.system(system), "\n\n".join((*talk, "You:"))


def _said(message: Any, tools: TextTools) -> str:
    texts: list[str] = []
    calls: list[Call] = []
    results: list[tuple[str, str]] = []
    for part in message.parts:
        match type(part).__name__:
            case "TextPart":
                texts.append(part.text)
            case "ToolCallPart":
                id = part.tool_call_id or part.name
                calls.append(Call(id=id, name=part.name, input=part.arguments or {}))
            case "ToolResultPart":
                results.append((part.name, str(part.output)))
            case _:
                pass
    text = "".join(texts)
    return tools.results(results) if results else tools.said(text, calls)


def _events(replies: Sequence[Reply], response: Any) -> Iterator[Any]:
    for one in replies:
        match one:
            case Words(text=text):
                yield StreamEvent(type="text", chunk=text)
            case Thought(text=text):
                yield StreamEvent(type="reasoning", chunk=text)
            case Call():
                made = llm.ToolCall(name=one.name, arguments=one.input, tool_call_id=one.id)
                response.add_tool_call(made)
                yield StreamEvent(type="tool_call_name", chunk=one.name, tool_call_id=one.id)
                yield StreamEvent(
                    type="tool_call_args", chunk=json_text(one.input), tool_call_id=one.id
                )
