"""The error for arguments that cannot be read, so that a block is no call."""

from __future__ import annotations

__all__ = ("BadBody",)


class BadBody(Exception):
    """An error in the arguments of a call: a stable code, and the reason."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail
