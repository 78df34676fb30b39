"""The exception of writers; its code reaches the model."""

from __future__ import annotations

__all__ = ("Unrenderable",)


class Unrenderable(Exception):
    """The input cannot become a document, within the limits or at all."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
