"""Emoji-bracket blocks by their parts: name, raw arguments, body."""

from __future__ import annotations

import msgspec

from callblocks.parser import parse

__all__ = ("EmojiCall", "parse_emoji_brackets")


class EmojiCall(msgspec.Struct, frozen=True):
    """One block: the first word of its head, the rest of the head, and the body.

    `ended` is false for a block without its end marker, whose body is the rest of the text: do not
    run it unless you know that nothing is missing.
    """

    tool_name: str
    raw_args: str
    body: str
    ended: bool = True


def parse_emoji_brackets(text: str) -> list[EmojiCall]:
    """Return every block of a text, in order of appearance."""
    return [
        EmojiCall(call.name, call.input["args"], call.input["body"], call.ended)
        for call in parse(text, "emoji-bracket").calls
    ]
