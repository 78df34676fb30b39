"""Why a file cannot be read, in the words that a model is told."""

from __future__ import annotations

__all__ = ("Unreadable",)


class Unreadable(Exception):
    """The file is not what its name says, or passes a limit."""
