"""Emoji-bracket blocks by their parts: name, raw arguments, body."""

from __future__ import annotations

import msgspec

from callblocks.parser import parse

__all__ = ("EmojiCall", "parse_emoji_brackets")


class EmojiCall(msgspec.Struct, frozen=True):
    """One block: the first word of its head, the rest of the head, and the body."""

    tool_name: str
    raw_args: str
    body: str


def parse_emoji_brackets(text: str) -> list[EmojiCall]:
    """Every block of a text, in order of appearance."""
    calls = parse(text, "emoji-bracket").calls
    return [EmojiCall(call.name, call.input["args"], call.input["body"]) for call in calls]
