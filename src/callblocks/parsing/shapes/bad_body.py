"""What is wrong with the arguments of a call, where that makes it no call."""

from __future__ import annotations

__all__ = ("BadBody",)


class BadBody(Exception):
    """The arguments cannot be read: a stable code, and why."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail
