"""`llm`: every installed model, with tools.

    llm -m callblocks/MODEL -T llm_time "What time is it?"

An entry point of this module (group `llm`) registers, for each model of the other plugins that has
no tools, a second one with `callblocks/` before its name. The model is asked without tools; they
are taught in its prompt, and its calls are read from what it writes, as they come. What was asked
and called is in the log of `llm`, as with other models.

    llm callblocks trip                     the timeline `trip`, put into the log
    llm logs --cid callblocks.trip             … and read there

A timeline that has grown is put there again: what the log has of it stays as it is.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from llm.parts import StreamEvent

import llm
from callblocks.adapters.text_tools import Reply, TextTools, Thought, Words
from callblocks.core.calls import Call
from callblocks.core.json_values import json_text

__all__ = ("CallblocksModel", "register_commands", "register_models")

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


# --- Timelines in the log of llm ---


@llm.hookimpl
def register_commands(cli: Any) -> None:
    """Add the command that puts a timeline into the log."""
    import click

    @cli.command("callblocks")
    @click.argument("name")
    @click.option("--store", default="", help="A file of timelines, or postgresql://…")
    @click.option("--database", type=click.Path(), help="The log to write; by default that of llm.")
    def log_timeline(name: str, store: str, database: str | None) -> None:
        """Put a timeline of callblocks into the log, for `llm logs --cid callblocks.NAME`."""
        import sqlite_utils

        from callblocks.core.errors import CallerError, TimelineError

        path = database or llm.user_dir() / "logs.db"
        try:
            count = _log(name, store, sqlite_utils.Database(path))
        except (CallerError, TimelineError) as error:
            raise click.ClickException(str(error)) from error
        if not count:
            raise click.ClickException(f"no timeline {name} with answers is there")
        click.echo(f"{count} responses: llm logs --cid callblocks.{name}")


class _Written(llm.Model):
    """Stands for the model of a timeline, which is only read."""

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id

    def execute(self, *given: Any) -> Iterator[str]:
        raise llm.ModelError("it is read from a timeline")


def _log(name: str, store: str, log: Any) -> int:
    """Write the answers of a timeline that a log does not have; return how many there are."""
    from callblocks.timeline.log.open_store import open_store
    from callblocks.timeline.timeline import TIMELINES
    from callblocks.views.ui.ai_sdk.ui_messages import ui_messages

    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    home = os.environ.get("CALLBLOCKS_HOME") or os.path.join(state, "callblocks")
    with open_store(store or Path(home).expanduser() / TIMELINES) as opened:
        entries = list(opened.entries(name))
    models = {
        one.block.turn_id: one.block.meta["model"] for one in entries if "model" in one.block.meta
    }
    times = {one.block.turn_id: one.block.ts for one in reversed(entries)}
    known = _known_ids(log)
    chain: list[dict[str, Any]] = []
    count = 0
    for message in ui_messages(entries):
        if message["role"] == "user":
            chain.append({"role": "user", "parts": list(_texts(message["parts"]))})
            continue
        turn = message["id"]
        for said, results in _rounds(message["parts"]):
            model = _Written(str(models.get(turn, "callblocks")))
            count += 1
            id = f"callblocks.{name}.{turn}.{count}"
            if id not in known:
                prompt = {"messages": list(chain)}
                data: Any = {
                    "model": model.model_id,
                    "prompt": prompt,
                    "messages": [said],
                    "id": id,
                }
                response = llm.Response.from_dict(data | {"id": id}, model=model)
                talk = llm.Conversation(model=model, id=f"callblocks.{name}", name=name)
                response.conversation = talk
                response._start_utcnow = datetime.fromisoformat(times[turn])
                response.log_to_db(log)
            chain += [said, *results]
    return count


def _known_ids(log: Any) -> set[str]:
    if "turns" not in log.table_names():
        return set()
    return {row[0] for row in log.execute("select id from turns where id like 'callblocks.%'")}


def _texts(parts: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for part in parts:
        if part.get("type") in ("text", "reasoning") and part.get("text"):
            yield {"type": part["type"], "text": part["text"]}


def _rounds(
    parts: Sequence[dict[str, Any]],
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield what the model wrote in each round, and the results that it then saw."""
    said: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for part in (*parts, {"type": "end"}):
        is_call = "toolCallId" in part
        if (said and not is_call and results) or part["type"] == "end":
            if said:
                seen = [{"role": "tool", "parts": results}] if results else []
                yield {"role": "assistant", "parts": said}, seen
            said, results = [], []
        if is_call:
            named = {"tool_call_id": part["toolCallId"], "name": part.get("toolName", "")}
            said.append({"type": "tool_call", "arguments": part.get("input") or {}, **named})
            output = part.get("errorText", part.get("output", ""))
            shown = output if isinstance(output, str) else json_text(output)
            results.append({"type": "tool_result", "output": shown, **named})
        else:
            said += _texts([part])
