"""Messages of an OpenAI-compatible server, as far as they are read.

    {"choices": [{"delta": {"content": "Hel"}}]}                             a chunk of a chat
    {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}  a chat, whole
    {"choices": [{"text": "Hel"}]}                                           a completion

Unknown fields are ignored, and every field may be missing or null.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

__all__ = ("Choice", "Chunk", "Function", "NativeCall", "Speech", "Tokens", "read_chunk")


class Function(msgspec.Struct, frozen=True):
    """The name and the input of a native call, or a part of them."""

    name: str | None = None
    arguments: Any = None


class NativeCall(msgspec.Struct, frozen=True):
    """A part of a call in the API's own form."""

    index: int | str | None = None
    id: str | int | None = None
    function: Function | None = None


class Speech(msgspec.Struct, frozen=True):
    """The text of a model: a part of it, or all."""

    content: str | list[dict[str, Any]] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[NativeCall | None] | None = None
    function_call: Function | None = None


class Choice(msgspec.Struct, frozen=True):
    """One of the replies; only the first is asked for."""

    index: int | None = None
    delta: Speech | None = None
    message: Speech | None = None
    text: str | None = None
    finish_reason: str | None = None


class Tokens(msgspec.Struct, frozen=True):
    """The cost of a reply."""

    prompt_tokens: int | float | None = None
    completion_tokens: int | float | None = None


class Chunk(msgspec.Struct, frozen=True):
    """One event of a stream, or a whole reply."""

    choices: list[Choice] | None = None
    usage: Tokens | None = None
    error: Any = None
    object: str | None = None
    message: Any = None
    code: Any = None


_DECODER = msgspec.json.Decoder(Chunk)


# A second try without lone surrogates: decoding strictly first keeps the common case fast.
def read_chunk(text: str) -> Chunk:
    """Parse a chunk; raise `ValueError` with the place of the fault."""
    try:
        return _DECODER.decode(text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return _DECODER.decode(_whole_characters(text))
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _whole_characters(text: str) -> bytes:
    r"""Return the same JSON without lone surrogates: a lone `\ud83d` becomes U+FFFD.

    Some servers cut an emoji in two and escape each half.
    """
    try:
        said = json.dumps(json.loads(text), ensure_ascii=False)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
