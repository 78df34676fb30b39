"""Dialects: one file per way of writing tool calls as text.

`table` lists all of them with their aliases, groups and siblings, and loads a dialect's file when
it is first used. `families` maps the names of models to dialects. Most dialects are a few markers
on a shape of `parsing.shapes`.

Start with table.py, then hermes.py (a JSON dialect) and qwen3_coder.py (a tag dialect). May import:
model, parsing.
"""

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
