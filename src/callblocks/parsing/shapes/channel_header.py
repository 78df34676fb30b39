"""The header of a message in channels, in whatever order its parts were written.

    <|start|>assistant to=functions.ls<|channel|>commentary <|constrain|>json<|message|>

Models write parts twice, or leave them out. The last channel counts, and the last recipient
that is a tool. Words that are none of these are `junk`: nobody knows what they were meant to be.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ("CHANNEL", "CHANNELS", "CONSTRAIN", "MESSAGE", "START", "Header", "read_header")

START, CHANNEL, CONSTRAIN, MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
CHANNELS = ("analysis", "commentary", "final")
PEOPLE = ("assistant", "user", "system", "developer", "all")

_PART = re.compile(
    r"<\|start\|>(?P<role>[^\s<]*)"
    rf"|<\|channel\|>\s?(?P<channel>{'|'.join(CHANNELS)})?"
    r"|<\|constrain\|>\s?(?P<kind>[\w.+/-]*)"
    r"|\bto=(?P<to>[^\s<]+)"
    r"|(?P<word>json|code|text)\b"
    r"|\s+"
    r"|(?P<junk>[^\s<]+|<)"
)
_TOOL = "functions."


class Header(NamedTuple):
    """What a header says. `last` is where its last channel begins, `end` where that name ends."""

    role: str
    channel: str
    recipient: str
    kind: str
    junk: str
    last: int
    end: int

    @property
    def tool(self) -> str:
        """The tool that the message is for, if any."""
        return "" if self.recipient in PEOPLE else self.recipient.removeprefix(_TOOL)

    @property
    def is_json(self) -> bool:
        """Whether what follows must be JSON: functions take nothing else."""
        return self.recipient.startswith(_TOOL) and self.kind in ("", "json")


def read_header(text: str) -> Header:
    """Read a header up to where its message begins."""
    role, channel, recipient, kind, junk, last, end = "", "", "", "", "", 0, 0
    for part in _PART.finditer(text):
        what = part.lastgroup
        found = part[what] if what else ""
        if what == "role":
            role = found or role
        elif what in ("kind", "word"):
            kind = found or kind
        elif what == "junk":
            junk = junk or found
        elif what == "to":
            recipient = found if not recipient or found not in PEOPLE else recipient
        elif part[0].startswith(CHANNEL):
            channel, last, end = found, part.start(), part.end()
    return Header(role, channel, recipient, kind, junk, last, end)
