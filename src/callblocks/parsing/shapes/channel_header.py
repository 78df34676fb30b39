"""The header of a message in channels; its parts may stand in any order.

    <|start|>assistant to=functions.ls<|channel|>commentary <|constrain|>json<|message|>

Models write parts twice, or leave them out. The last channel counts, and the last recipient that is
a tool. Other words are `junk`: the caller decides whether a header with junk is one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ("CHANNEL", "CHANNELS", "CONSTRAIN", "MESSAGE", "START", "Header", "read_header")

START, CHANNEL, CONSTRAIN, MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
CHANNELS = ("analysis", "commentary", "final")
PEOPLE = ("assistant", "user", "system", "developer", "all")

# The parts of a header, in the order of preference. The last alternative matches any other word, so
# the whole header is covered and nothing is skipped silently.
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
    """The parts of a header; `last` and `end` are the span of its last channel."""

    role: str
    channel: str
    recipient: str
    kind: str
    junk: str
    last: int
    end: int

    @property
    def tool(self) -> str:
        """The tool that the message is addressed to, or `""`."""
        return "" if self.recipient in PEOPLE else self.recipient.removeprefix(_TOOL)

    @property
    def is_json(self) -> bool:
        """True if the message must be JSON: functions take nothing else."""
        return self.recipient.startswith(_TOOL) and self.kind in ("", "json")


def read_header(text: str) -> Header:
    """Read a header up to where its message begins."""
    # A loop over parts and not one pattern for the whole header: with parts missing, doubled and in
    # any order, that pattern would have an alternative per permutation. A person as recipient
    # (`to=user`) never replaces a tool.
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
