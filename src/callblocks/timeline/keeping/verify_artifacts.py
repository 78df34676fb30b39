"""Verification of the files that blocks name: each exists, and matches its digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from callblocks.model.blocks import Block, Entry
from callblocks.model.errors import TimelineError
from callblocks.timeline.keeping.artifacts import Artifacts
from callblocks.timeline.stores.verify import Finding

__all__ = ("artifact_of", "verify_artifacts")

_NAME = "artifact:sha256:"


def artifact_of(block: Block) -> str:
    """Return the digest of the artifact that a block names; "" where it names none."""
    name = block.meta.get("rn")
    return name.removeprefix(_NAME) if isinstance(name, str) and name.startswith(_NAME) else ""


def _digests(block: Block) -> Iterator[str]:
    """Yield every artifact that a block names: its own, and those that hold long parameters."""
    yield artifact_of(block)
    kept = block.meta.get("artifacts")
    for one in cast("list[Any]", kept) if isinstance(kept, list) else ():
        digest = cast("dict[str, Any]", one).get("digest") if isinstance(one, dict) else None
        yield digest if isinstance(digest, str) else ""


def verify_artifacts(entries: Iterable[Entry], artifacts: Artifacts) -> Iterator[Finding]:
    """Yield the faults of artifacts, at the first block that names each."""
    # Each artifact is read and hashed once, however many blocks name it.
    seen: set[str] = set()
    for entry in entries:
        for digest in _digests(entry.block):
            if not digest or digest in seen:
                continue
            seen.add(digest)
            try:
                artifacts.read(digest)
            except TimelineError as error:
                words = f"{entry.block.path or 'a block'}: {error.message}"
                yield Finding(entry.seq, error.code, words)
