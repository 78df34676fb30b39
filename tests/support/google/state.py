"""What the played Google Workspace holds; each test has its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

__all__ = ("Answer", "Asked", "Json", "Method", "Refused", "State")

Json = dict[str, Any]

OWNER = "ada@example.org"
"""The address of the person whose account it is."""


class State:
    """Resources by their ids, and a clock and ids that differ but do not surprise."""

    def __init__(self) -> None:
        self.owner = OWNER
        self.messages: dict[str, Any] = {}
        self.files: dict[str, Any] = {}
        self.calendars: dict[str, Any] = {}
        self.events: dict[str, Any] = {}
        self.documents: dict[str, Any] = {}
        self.spreadsheets: dict[str, Any] = {}
        self.tasklists: dict[str, Any] = {}
        self.tasks: dict[str, Any] = {}
        self.more: dict[str, Any] = {}
        self._made = 0

    def new_id(self, start: str = "") -> str:
        """An id that no other thing here has: `start`, then 16 hexadecimal digits."""
        self._made += 1
        return f"{start}{self._made * 0x9E3779B97F4A7C15 % 2**64:016x}"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request that passed all checks.

    Values of `path` and `query` have the types that the document gives them; a repeated one is
    a list. `media` is what was uploaded; `download` says that `alt=media` was asked for.
    """

    id: str
    path: dict[str, Any] = {}
    query: dict[str, Any] = {}
    body: dict[str, Any] = {}
    media: bytes | None = None
    media_type: str = ""
    download: bool = False
    headers: dict[str, str] = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is not only JSON with status 200: a download, or nothing (204)."""

    status: int = 200
    body: Json | None = None
    media: bytes | None = None
    media_type: str = "application/octet-stream"
    headers: dict[str, str] = {}


class Refused(Exception):
    """What a method raises to answer with an error in Google's shape."""

    def __init__(
        self, status: int, reason: str, message: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message or reason)
        self.status = status
        self.reason = reason
        self.message = message or reason
        self.headers = headers or {}


Method = Callable[[Asked], Json | Answer | None]
"""What a method of the service does; `None` is an answer with no content (204)."""
