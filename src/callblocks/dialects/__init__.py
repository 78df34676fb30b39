"""One file for each way of writing tool calls as text.

table.py lists them in the order in which `auto` asks; families.py maps names of models to them.
Dialects do not know each other. CONTRIBUTING.md shows how to add one. Does no input or output.
May import: core, parsing.
"""

from callblocks.dialects.families import FAMILIES, TAUGHT, dialect_of, is_small
from callblocks.dialects.table import (
    aliases_of,
    dialects,
    find_more,
    groups_of,
    members_of,
    name_families,
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

name_families(FAMILIES)
