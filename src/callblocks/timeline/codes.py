"""Codes of a `TimelineError`, with their meaning."""

from __future__ import annotations

__all__ = ("TIMELINE_CODES",)

TIMELINE_CODES = {
    "unknown_timeline": "no timeline of that name is in the store",
    "bad_name": "the name of a timeline is letters, digits and . _ -",
    "conflict": "another writer was first: the timeline is longer than expected",
    "timeline_exists": "an import would overwrite a timeline of that name",
    "block_too_large": "a block passes the limit; keep what is large as an artifact",
    "store_unavailable": "the store cannot be opened or reached",
    "store_busy": "another writer held the store for too long",
    "store_full": "no room is left on the disk; nothing was written",
    "store_damaged": "the store is no database, or parts of it cannot be read",
    "newer_schema": "the store was written by a newer version of callblocks",
    "chain_broken": "a hash does not fit: a block was changed, lost or put in",
    "damaged_block": "a block is there, and cannot be read",
    "bad_import": "the file is no export of a timeline",
    "artifact_missing": "the file of an artifact is not there",
    "artifact_damaged": "the content of an artifact is not what its digest says",
}
