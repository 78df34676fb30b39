"""Parts of requests that several wires share: fields, images, inputs of calls, tools, results.

    fields = request_fields(body)
    fields.text("model"); fields.count("max_tokens"); fields.objects("messages")

Whatever a body holds, only `GatewayFault` is raised: `invalid_request`, with the path of the field
(`messages[2].content`). A null counts as an absent field. A body is checked once, before any wire
reads it: nested deeper than 100 levels, more than 500,000 values, a number that JSON cannot say, or
an integer of more than 4300 digits is a fault. A lone surrogate becomes U+FFFD: clients in
JavaScript that shorten a text between the halves of an emoji send such bodies, and would send them
again with each turn.

An `ImagePart` holds the bytes of an image, so a data URL becomes one. An address on the network is
a `LinkedImage`, which models get as a text, `<image url=…>`, unless their server may fetch images
(`image_links`): the gateway fetches nothing that a client names. An address that the network guard
refuses by its text is a text for every model.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from msgspec.structs import replace

from callblocks.core.blocks import DocumentPart, ImagePart, Part, TextPart
from callblocks.core.calls import Call
from callblocks.core.errors import CallerError, ToolError
from callblocks.core.json_values import whole
from callblocks.core.specs import ToolSpec, read_entry
from callblocks.core.text import brief
from callblocks.gateway.exchange import ANY_TOOL, Demand, GatewayFault, GatewayRequest, ToolChoice
from callblocks.models.model import LinkedImage, Message
from callblocks.parsing.values.strict_json import read_json
from callblocks.parsing.values.tolerant_json import Tolerant, Unrepairable

__all__ = (
    "Fields",
    "bad_field",
    "choice_of",
    "estimate_tokens",
    "failed_parts",
    "free_text_spec",
    "input_text",
    "media_of",
    "media_of_base64",
    "prepared_messages",
    "read_input",
    "request_fields",
    "text_parts",
    "tool_spec",
)

# --- Fields ---


_MOST_LEVELS = 100
# The most bits of an integer that Python writes: 4300 digits.
_BITS = 14_000
# The most messages, tools or parts of one list.
_LONGEST_LIST = 100_000
# The most values of a body: looking at each of them takes a microsecond, and nobody is served.
_MOST_VALUES = 500_000
# The most characters of all stop sequences: each is looked for in all that the model writes.
_STOP_CHARACTERS = 16_384


def bad_field(path: str, message: str, code: str = "") -> GatewayFault:
    """Return the fault of one field."""
    text = f"{path}: {message}" if path else message
    return GatewayFault("invalid_request", text, field=path, code=code)


class Fields:
    """The fields of one JSON object. `path` is its place in the request, "" for the body."""

    __slots__ = ("path", "raw")

    def __init__(self, raw: dict[str, Any], path: str = "") -> None:
        self.raw = raw
        self.path = path

    def where(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def fault(self, name: str, message: str, code: str = "") -> GatewayFault:
        """Return the fault of a field; of the object itself where `name` is ""."""
        return bad_field(self.where(name) if name else self.path, message, code)

    def get(self, name: str) -> Any:
        """Return the value as it is; `None` where it is absent."""
        return self.raw.get(name)

    def text(self, name: str, default: str = "") -> str:
        value = self.raw.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.fault(name, f"expected a string, not {brief(value, 40)}")
        return value

    def needed_text(self, name: str) -> str:
        """Return a string that must be there and not be empty."""
        value = self.text(name)
        if not value:
            raise self.fault(name, "expected a string that is not empty", "missing_required")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.raw.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.fault(name, f"expected true or false, not {brief(value, 40)}")
        return value

    def number(self, name: str) -> float | None:
        value = self.raw.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fault(name, f"expected a number, not {brief(value, 40)}")
        try:
            return float(value)
        except OverflowError as error:
            raise self.fault(name, "the number is too large") from error

    def count(self, name: str) -> int | None:
        """Return a whole number of at least 1."""
        number = self.number(name)
        if number is None:
            return None
        if not number.is_integer() or not 1 <= number < 2**53:
            raise self.fault(name, "expected a whole number of at least 1")
        return int(number)

    def object(self, name: str) -> Fields | None:
        value = self.raw.get(name)
        if value is None:
            return None
        return as_fields(value, self.where(name))

    def list(self, name: str) -> list[Any]:
        """Return a list; an absent one is empty."""
        value = self.raw.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fault(name, f"expected a list, not {brief(value, 40)}")
        return cast("list[Any]", value)

    def objects(self, name: str) -> Iterator[Fields]:
        """Yield the objects of a list."""
        for at, value in enumerate(self.list(name)):
            yield as_fields(value, f"{self.where(name)}[{at}]")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the strings of a list, or of one string; empty ones are left out."""
        value = self.raw.get(name)
        if isinstance(value, str):
            return (value,) if value else ()
        values = self.list(name)
        for at, one in enumerate(values):
            if not isinstance(one, str):
                raise self.fault(f"{name}[{at}]", f"expected a string, not {brief(one, 40)}")
        return tuple(one for one in values if one)

    def stops(self, name: str) -> tuple[str, ...]:
        """Return the stop sequences of a request."""
        stops = self.texts(name)
        if sum(map(len, stops)) > _STOP_CHARACTERS:
            raise self.fault(
                name, f"the texts have more than {_STOP_CHARACTERS} characters together"
            )
        return stops


def as_fields(value: Any, path: str) -> Fields:
    """Return the fields of a value that must be an object."""
    if not isinstance(value, dict):
        raise bad_field(path, f"expected an object, not {brief(value, 40)}")
    return Fields(cast("dict[str, Any]", value), path)


def request_fields(body: Any) -> Fields:
    """Check a decoded body, and return its fields."""
    if not isinstance(body, dict):
        raise bad_field("", "the body must be a JSON object")
    return Fields(_checked(body, "", 0, [_MOST_VALUES]))


def _checked(value: Any, path: str, depth: int, left: list[int]) -> Any:
    match value:
        case str():
            return whole(value)
        case None | bool():
            return value
        case int():
            if value.bit_length() > _BITS:
                raise bad_field(path, "the number is too large")
            return value
        case float():
            if not math.isfinite(value):
                raise bad_field(path, "not a number that JSON can say")
            return value
        case dict():
            if depth >= _MOST_LEVELS:
                raise bad_field(path, f"nested deeper than {_MOST_LEVELS} levels")
            pairs = cast("dict[str, Any]", value).items()
            _count_values(len(pairs), left)
            return {
                whole(key): _checked(
                    item, f"{path}.{key:.60}" if path else f"{key:.60}", depth + 1, left
                )
                for key, item in pairs
            }
        case list():
            if depth >= _MOST_LEVELS:
                raise bad_field(path, f"nested deeper than {_MOST_LEVELS} levels")
            items = cast("list[Any]", value)
            if len(items) > _LONGEST_LIST:
                raise bad_field(path, f"more than {_LONGEST_LIST} entries")
            _count_values(len(items), left)
            return [
                _checked(item, f"{path}[{at}]", depth + 1, left) for at, item in enumerate(items)
            ]
        case _:
            raise bad_field(path, f"not a JSON value: {type(value).__name__}")


def _count_values(values: int, left: list[int]) -> None:
    left[0] -= values
    if left[0] < 0:
        raise bad_field("", f"the body has more than {_MOST_VALUES} values", "request_too_large")


# --- Content ---


_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[^;,]*)*?;base64,", re.IGNORECASE)
_BLANKS = re.compile(r"\s+")


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
    text = f"<image url={url:.2000}>"
    return LinkedImage(text, url=url) if _is_public(url) else TextPart(text)


def _is_public(url: str) -> bool:
    """Return whether a URL leads to no place inside a network, by its text alone."""
    # It costs 40 ms, and few requests link to an image.
    from callblocks.guard.net.client import Client

    try:
        Client().check(url)
    except ToolError:
        return False
    return True


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


_INPUT_LEVELS = 100


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
        value = read_json(arguments, _INPUT_LEVELS)
    except ValueError:
        value = _repaired(arguments)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"arguments": arguments}


def _repaired(text: str) -> Any:
    try:
        value, end = Tolerant(text, ended=True, max_depth=_INPUT_LEVELS).read(0)
    except (Unrepairable, ValueError, RecursionError):
        return None
    return None if text[end:].strip() else value


def input_text(call: Call, free_text: frozenset[str]) -> str:
    """Return the input of a call as its `CallInput` events have it, joined."""
    if call.name in free_text and isinstance(call.input.get("input"), str):
        return call.input["input"]
    return json.dumps(call.input, ensure_ascii=False, separators=(",", ":"))


# Claude Code begins its system prompt with a line for Anthropic's accounts. It says nothing to a
# model, and has another number in each request, so no cache of a prompt would ever hit.
_ACCOUNT_LINE = re.compile(r"x-anthropic-billing-header:[^\n]*\n?")


def prepared_messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return messages where a result without a call before it says whose it is.

    It stays a result, a text of others: it must not act in the prompt, as words of the user may.
    System messages lose what changes with each request and is for no model.
    """
    made: list[Message] = []
    calls: set[str] = set()
    for message in messages:
        calls.update(call.id for call in message.calls)
        if message.role == "system":
            made.append(replace(message, parts=tuple(_for_models(message.parts))))
        elif message.role == "tool" and message.call_id not in calls:
            note = TextPart(f"Result of the call {message.call_id or 'without an id'}:\n")
            made.append(replace(message, parts=(note, *message.parts)))
        else:
            made.append(message)
    return tuple(made)


def _for_models(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        if not isinstance(part, TextPart) or not (line := _ACCOUNT_LINE.match(part.text)):
            yield part
        elif rest := part.text[line.end() :]:
            yield replace(part, text=rest)


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
