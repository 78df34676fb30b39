"""What a person types in a chat: a prompt, or a command that begins with a slash.

Add up the numbers in it.      a prompt
/attach numbers.csv            a command, and what it is about
/etc/hosts is odd              a prompt: only letters may follow the slash
"""

from __future__ import annotations

import re
from typing import TypeAlias

import msgspec

from callblocks.views.rows import Row, wrap

__all__ = ("COMMANDS", "Line", "Order", "help_rows", "read_line")

COMMANDS: dict[str, tuple[str, str]] = {
    "help": ("", "this list"),
    "attach": ("FILE", "give a file with the next prompt"),
    "files": ("", "the files that wait, and those of this chat"),
    "tools": ("", "what the model may call"),
    "model": ("SPEC", "talk with another model; alone: which one it is"),
    "set": ("NAME VALUE", "system, temperature, max-tokens or mode; alone: what they are"),
    "dialect": ("NAME", "how calls are written; alone: which one it is"),
    "show": ("", "this chat, with each call and its result"),
    "raw": ("", "this chat block by block, as it is kept"),
    "view": ("", "this chat as the model gets it"),
    "resume": ("", "go on with a turn that was interrupted"),
    "new": ("[NAME]", "begin another chat"),
    "exit": ("", "leave; so does Ctrl-D"),
}
"""Each command: what may follow it, and what it does."""

_KEYS = "Enter sends, Alt-Enter begins a new line, Ctrl-C stops the model, Ctrl-D leaves."
_ORDER = re.compile(r"/([A-Za-z]+)(?:\s+(.*))?", re.DOTALL)


class Order(msgspec.Struct, frozen=True):
    """A command that was typed, and the rest of its line."""

    name: str
    rest: str = ""


Line: TypeAlias = str | Order
"""What was typed: a prompt, or a command."""


def read_line(text: str) -> Line:
    """Tell a command from a prompt; neither has blanks around it."""
    text = text.strip()
    found = _ORDER.fullmatch(text)
    return text if found is None else Order(found[1].lower(), (found[2] or "").strip())


def help_rows(width: int) -> list[Row]:
    """Every command, and the keys."""
    heads = [f"/{name} {follows}".rstrip() for name, (follows, _) in COMMANDS.items()]
    pad = max(map(len, heads)) + 2
    rows: list[Row] = []
    for head, (_, about) in zip(heads, COMMANDS.values(), strict=True):
        row: Row = (("code", f"  {head:<{pad}}"), ("quiet", about))
        rows += wrap(row, width, (("plain", " " * (pad + 2)),))
    return [*rows, (), *wrap((("quiet", _KEYS),), width)]
