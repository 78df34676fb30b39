"""Spilling: a long output is stored whole as a file, and its start stays in the outcome.

    first lines …
    ... (2.3MB in all, kept as artifacts/4f/…/c1.txt)

Nothing is lost: where the file cannot be stored, the output stays whole in the outcome.
"""

from __future__ import annotations

from typing import Any

import msgspec

from callblocks.model.outcomes import Artifact, Notice
from callblocks.model.shown import format_size
from callblocks.tools.context import Keep

__all__ = ("Spilled", "spill")


class Spilled(msgspec.Struct, frozen=True):
    """The output that stays, the file that holds all of it, and notices."""

    output: Any
    artifacts: tuple[Artifact, ...] = ()
    notices: tuple[Notice, ...] = ()


def spill(output: Any, name: str, limit: int, keep: Keep | None) -> Spilled:
    """Store an output of more than `limit` characters in a file named after `name`."""
    text, ending, mime = _written(output)
    if len(text) <= limit or keep is None:
        return Spilled(output)
    content = text.encode()
    try:
        artifact = keep(f"{name}.{ending}", content, mime)
    # Losing the output would be worse than a long outcome, so it stays whole.
    except OSError as error:
        told = f"the whole output could not be kept: {error.strerror or error}"
        return Spilled(output, notices=(Notice(code="not_kept", message=told),))
    told = f"... ({format_size(len(content))} in all, kept as {artifact.path})"
    return Spilled(f"{text[:limit]}\n{told}", (artifact,))


def _written(output: Any) -> tuple[str, str, str]:
    if isinstance(output, str):
        return output, "txt", "text/plain"
    text = msgspec.json.encode(output).decode()
    return text, "json", "application/json"
