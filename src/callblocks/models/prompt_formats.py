r"""Messages as one text, for a model that only goes on writing.

    chatml    <|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n
    llama3    <|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|>…
    mistral   [INST] Hello[/INST]
    plain     User: Hello\n\nAssistant:

No format writes the sign that begins a text (`<s>`, `<|begin_of_text|>`): servers put it there.
An image or a document is one line.

A content cannot end its message or begin another: the sign `␛` goes into every marker that stands
in it, as in `<␛|im_end|>`. A session takes it out of what a model copies from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

import msgspec

from callblocks.core.blocks import ESCAPE, text_of
from callblocks.core.errors import CallerError
from callblocks.models.model import Message

__all__ = ("MARKED", "PROMPT_FORMATS", "PromptFormat", "prompt_format")

_BAR = re.compile(r"<(?=\|[A-Za-z0-9_]{1,64}\|>)")
_BRACKET = re.compile(
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|TOOL_ID"
    r"|CALL_ID|ARGS|THINK|MODEL_SETTINGS|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO|PREFIX|MIDDLE"
    r"|SUFFIX|REFERENCE_DOC_[0-9]{1,4})\])|<(?=/?(?:s|unk|pad)>)"
)
# At the start of a line, by any character that a model may take for a line end.
_NAME = re.compile(
    r"(?<![^\n\r\v\f\x1c-\x1e\x85\u2028\u2029])[^\S\n]{0,8}"
    r"(?:u(?=ser[^\S\n]*:)|a(?=ssistant[^\S\n]*:)|s(?=ystem[^\S\n]*:))",
    re.IGNORECASE,
)
# Matches wherever some format inserts a sign into a content.
MARKED = re.compile("|".join((_BAR.pattern, _BRACKET.pattern, f"(?i:{_NAME.pattern})")))


class PromptFormat(msgspec.Struct, frozen=True):
    """The form of a prompt: `prompt`, and the texts that end a reply.

    `trims` means that a reply begins with a blank that is not part of it.
    """

    name: str
    prompt: Callable[[Iterable[Message]], str]
    stops: tuple[str, ...]
    trims: bool = False


def prompt_format(name: str) -> PromptFormat:
    """Return the format of that name."""
    if name not in PROMPT_FORMATS:
        raise CallerError(f"no prompt format {name!r}; choose from: {', '.join(PROMPT_FORMATS)}")
    return PROMPT_FORMATS[name]


def _content(message: Message, marker: re.Pattern[str]) -> str:
    """Return the text of a message with a sign in each marker of the format."""
    text = text_of(list(message.parts)).strip("\n")
    return marker.sub(rf"\g<0>{ESCAPE}", text)


def _chatml(messages: Iterable[Message]) -> str:
    said = (f"<|im_start|>{one.role}\n{_content(one, _BAR)}<|im_end|>\n" for one in messages)
    return "".join((*said, "<|im_start|>assistant\n"))


def _llama3(messages: Iterable[Message]) -> str:
    said = (f"{_llama3_head(one.role)}{_content(one, _BAR)}<|eot_id|>" for one in messages)
    return "".join((*said, _llama3_head("assistant")))


def _llama3_head(role: str) -> str:
    return f"<|start_header_id|>{role}<|end_header_id|>\n\n"


def _mistral(messages: Iterable[Message]) -> str:
    """Return the prompt for two sides only: the system's text is put before the person's."""
    return "".join(_mistral_sides(messages))


def _mistral_sides(messages: Iterable[Message]) -> Iterator[str]:
    # The template has no system role and wants alternating sides, so neighbours of one side are
    # joined.
    for is_reply, group in groupby(messages, lambda one: one.role == "assistant"):
        text = "\n\n".join(_content(one, _BRACKET) for one in group)
        yield f" {text}</s>" if is_reply else f"[INST] {text}[/INST]"


def _plain(messages: Iterable[Message]) -> str:
    said = (f"{one.role.capitalize()}: {_content(one, _NAME)}\n\n" for one in messages)
    return "".join((*said, "Assistant:"))


# Every format, by its name.
PROMPT_FORMATS = {
    one.name: one
    for one in (
        PromptFormat("chatml", _chatml, ("<|im_end|>", "<|im_start|>", "<|endoftext|>")),
        PromptFormat("llama3", _llama3, ("<|eot_id|>", "<|end_of_text|>", "<|start_header_id|>")),
        PromptFormat("mistral", _mistral, ("</s>", "[INST]"), trims=True),
        PromptFormat("plain", _plain, ("\nUser:", "\nSystem:", "\nAssistant:"), trims=True),
    )
}
