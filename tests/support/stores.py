"""The stores that a test runs on: SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from callblocks.core.blocks import Block
from support.postgres import fresh_database

__all__ = ("KINDS", "block", "fresh_address")

KINDS = ("sqlite", "postgres")


@contextmanager
def fresh_address(kind: str, folder: Path) -> Generator[str, None, None]:
    """Where an empty store of a kind can be opened."""
    if kind == "sqlite":
        yield str(folder / "timeline.sqlite")
        return
    with fresh_database() as address:
        yield address


def block(text: str = "hello", **fields: object) -> Block:
    """A block that says something."""
    given: dict[str, object] = {
        "type": "react.notes",
        "author": "assistant",
        "turn_id": "turn_1",
        "ts": "2030-01-31T12:00:00Z",
        "text": text,
    }
    return Block(**given | fields)  # pyright: ignore[reportArgumentType] the fields are the test's
