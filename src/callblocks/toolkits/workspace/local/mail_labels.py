"""The labels of a message, from its header `X-Gmail-Labels` and the flags of its file.

    X-Gmail-Labels: Inbox,Starred,Trips     INBOX, STARRED, Trips
    cur/1700000000.x.host:2,S               S seen, F starred, T trash, D draft

A message without the header is in the inbox, unless its flags say otherwise. Mail programs change
flags and never the header, so flags take precedence for what they express.
"""

from __future__ import annotations

import re

__all__ = ("SYSTEM", "labels_of", "read_labels", "slug")

# The labels that every mailbox has.
SYSTEM = (
    *("INBOX", "SENT", "DRAFT", "TRASH", "SPAM", "UNREAD", "STARRED", "IMPORTANT", "CHAT"),
    *("CATEGORY_PERSONAL", "CATEGORY_SOCIAL", "CATEGORY_PROMOTIONS", "CATEGORY_UPDATES"),
    "CATEGORY_FORUMS",
)

_OTHER_NAMES = {"DRAFTS": "DRAFT", "BIN": "TRASH", "JUNK": "SPAM", "CHATS": "CHAT"}
# Takeout exports write these for "not unread" and "not in the inbox".
_READ, _ARCHIVED = "OPENED", "ARCHIVED"
_SLUG = re.compile(r"[^\w]+")


def read_labels(header: str | None) -> list[str]:
    """Return the labels in a header, as Gmail names them; `None` means no header."""
    if header is None:
        return ["INBOX"]
    names = (name.strip().strip('"').strip() for name in header.split(","))
    return list(dict.fromkeys(_label(name) for name in names if name))


def labels_of(said: list[str], flags: str) -> list[str]:
    """Return the labels of a message from its header's labels and its file's flags."""
    labels = [one for one in said if one not in (_READ, _ARCHIVED, "UNREAD")]
    if "S" not in flags and _READ not in said:
        labels.append("UNREAD")
    if "F" in flags:
        labels.append("STARRED")
    elsewhere = [label for flag, label in (("T", "TRASH"), ("D", "DRAFT")) if flag in flags]
    if elsewhere:
        labels = [*(one for one in labels if one != "INBOX"), *elsewhere]
    return list(dict.fromkeys(labels))


def slug(label: str) -> str:
    """Return a label as a search names it: `label:my-trips` finds `My Trips`."""
    return _SLUG.sub("-", label.casefold()).strip("-") or label


def _label(name: str) -> str:
    plain = name.upper().replace(" ", "_")
    plain = _OTHER_NAMES.get(plain, plain)
    return plain if plain in (*SYSTEM, _READ, _ARCHIVED) else name
