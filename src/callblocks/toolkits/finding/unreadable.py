"""The exception of parsers, with a message for the model."""

from __future__ import annotations

__all__ = ("Unreadable",)


class Unreadable(Exception):
    """The file is not what its name says, or passes a limit."""
