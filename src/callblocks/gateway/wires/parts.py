"""Parts of requests that several wires share: images, inputs of calls, tools, results.

An `ImagePart` holds the bytes of an image, so a data URL becomes one and an address on the network
stays a text, `<image url=…>`: the gateway fetches nothing that a client names.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from msgspec.structs import replace

from callblocks.core.blocks import DocumentPart, ImagePart, Part, TextPart
from callblocks.core.calls import Call
from callblocks.core.errors import CallerError
from callblocks.core.specs import ToolSpec, read_entry
from callblocks.gateway.exchange import ANY_TOOL, Demand, GatewayRequest, ToolChoice
from callblocks.gateway.wires.fields import bad_field
from callblocks.models.model import Message
from callblocks.parsing.values.json_text import read_json
from callblocks.parsing.values.tolerant_json import Tolerant, Unrepairable

__all__ = (
    "choice_of",
    "estimate_tokens",
    "failed_parts",
    "free_text_spec",
    "input_text",
    "link_results",
    "media_of",
    "media_of_base64",
    "read_input",
    "text_parts",
    "tool_spec",
)

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[^;,]*)*?;base64,", re.IGNORECASE)
_BLANKS = re.compile(r"\s+")
_DEPTH = 100


# --- Content ---


def text_parts(text: str) -> tuple[Part, ...]:
    """Return a text as parts; an empty one has none."""
    return (TextPart(text),) if text else ()


def media_of(url: str, path: str) -> Part:
    """Return an image or a document by its URL."""
    data = _DATA_URL.match(url)
    if data:
        return media_of_base64(data[1] or "image/png", url[data.end() :], path)
    if url[:5].lower() == "data:":
        raise bad_field(path, "a data URL must be base64")
    return TextPart(f"<image url={url:.2000}>")


def media_of_base64(mime: str, data: str, path: str) -> Part:
    """Return an image or a PDF from base64; a text in base64 as text."""
    packed = _BLANKS.sub("", data)
    try:
        content = base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError) as error:
        raise bad_field(path, "not base64") from error
    kind = mime.lower()
    if kind.startswith("image/"):
        return ImagePart(kind, packed)
    if kind == "application/pdf":
        return DocumentPart(kind, packed)
    if kind.startswith("text/") or kind == "application/json":
        return TextPart(content.decode(errors="replace"))
    return TextPart(f"<file media_type={kind} b64_len={len(packed)}>")


def failed_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts of a result so that its text says that the call failed."""
    first = parts[0] if parts else TextPart("")
    if not isinstance(first, TextPart):
        return (TextPart("Error:"), *parts)
    if first.text.lstrip()[:5].lower() == "error":
        return parts
    text = f"Error: {first.text}" if first.text else "Error"
    return (replace(first, text=text), *parts[1:])


# --- Calls ---


def read_input(arguments: Any) -> dict[str, Any]:
    """Return the input of a call in a history, where it is JSON in a string, or an object.

    Broken JSON is repaired where it has one reading; else the whole text stays, as `arguments`.
    """
    if isinstance(arguments, dict):
        return cast("dict[str, Any]", arguments)
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}
    if not isinstance(arguments, str):
        return {"arguments": arguments}
    try:
        value = read_json(arguments, _DEPTH)
    except ValueError:
        value = _repaired(arguments)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"arguments": arguments}


def _repaired(text: str) -> Any:
    try:
        value, end = Tolerant(text, ended=True, max_depth=_DEPTH).read(0)
    except (Unrepairable, ValueError, RecursionError):
        return None
    return None if text[end:].strip() else value


def input_text(call: Call, free_text: frozenset[str]) -> str:
    """Return the input of a call as its `CallInput` events have it, joined."""
    if call.name in free_text and isinstance(call.input.get("input"), str):
        return call.input["input"]
    return json.dumps(call.input, ensure_ascii=False, separators=(",", ":"))


def link_results(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return messages where a result without a call before it says whose it is.

    It stays a result, a text of others: it must not act in the prompt, as words of the user may.
    """
    made: list[Message] = []
    calls: set[str] = set()
    for message in messages:
        calls.update(call.id for call in message.calls)
        if message.role == "tool" and message.call_id not in calls:
            note = TextPart(f"Result of the call {message.call_id or 'without an id'}:\n")
            made.append(replace(message, parts=(note, *message.parts)))
        else:
            made.append(message)
    return tuple(made)


# --- Tools ---


def tool_spec(name: str, description: str, parameters: Any, path: str) -> ToolSpec:
    """Return a specification; a schema that is none is a fault of the request."""
    entry = {"name": name, "description": description, "parameters": parameters}
    try:
        return next(iter(read_entry(entry, 0)))
    except (CallerError, RecursionError) as error:
        said = str(error).removeprefix("tool 0: ")
        raise bad_field(path, said or "not a JSON Schema of an object") from error


def free_text_spec(name: str, description: str, form: Any) -> ToolSpec:
    """Return the specification of a tool whose input is one text; `form` is OpenAI's `format`."""
    note = _grammar_note(cast("dict[str, Any]", form)) if isinstance(form, dict) else ""
    schema = {
        "type": "object",
        "properties": {"input": {"type": "string", "description": note or "The whole input."}},
        "required": ["input"],
        "additionalProperties": False,
    }
    return ToolSpec(name, description, schema, "input")


def _grammar_note(form: dict[str, Any]) -> str:
    # The chat wire wraps the grammar once more than the responses wire.
    inner = form.get("grammar")
    given = cast("dict[str, Any]", inner) if isinstance(inner, dict) else form
    definition, syntax = given.get("definition"), given.get("syntax", "lark")
    if not isinstance(definition, str) or not definition:
        return ""
    kind = "this regular expression" if syntax == "regex" else "this Lark grammar"
    return f"The whole input, in the form of {kind}:\n{definition}"


def choice_of(
    demand: Demand,
    names: Sequence[str],
    tools: Sequence[ToolSpec],
    left_out: Sequence[str],
    field: str = "tool_choice",
) -> ToolChoice:
    """Return the choice as far as the tools are there.

    A demand for tools that were left out is none. One for tools that were never named is a fault.
    """
    known = {spec.name for spec in tools}
    kept = tuple(dict.fromkeys(name for name in names if name in known))
    missing = [name for name in names if name not in known]
    if demand == "none":
        return ToolChoice("none")
    if demand == "required" and ((names and not kept) or not known):
        if left_out:
            return ANY_TOOL
        said = f"no tool {missing[0]!r:.80}" if missing else "there are no tools"
        raise bad_field(field, said)
    if names and not kept:
        return ToolChoice("none")
    return ToolChoice(demand, kept)


# --- Counting ---


def estimate_tokens(request: GatewayRequest) -> int:
    """Return about how many tokens a request has: a quarter of its characters, 1,000 an image."""
    count = 0
    for message in request.messages:
        count += 16 + len(message.reasoning)
        for part in message.parts:
            count += len(part.text) if isinstance(part, TextPart) else 4_000
        for call in message.calls:
            count += len(call.name) + len(json.dumps(call.input, ensure_ascii=False))
    for spec in request.tools:
        count += len(spec.name) + len(spec.description)
        count += len(json.dumps(spec.parameters, ensure_ascii=False))
    return max(1, (count + 3) // 4)
