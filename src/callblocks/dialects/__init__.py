"""Dialects: one file per way of writing tool calls as text, and the table of all of them."""

from callblocks.dialects.families import FAMILIES, TAUGHT, dialect_of, is_small
from callblocks.dialects.table import (
    aliases_of,
    dialects,
    find_more,
    groups_of,
    members_of,
    near_names,
    register_dialect,
    registered_dialects,
)

__all__ = (
    "FAMILIES",
    "TAUGHT",
    "aliases_of",
    "dialect_of",
    "dialects",
    "find_more",
    "groups_of",
    "is_small",
    "members_of",
    "near_names",
    "register_dialect",
    "registered_dialects",
)
