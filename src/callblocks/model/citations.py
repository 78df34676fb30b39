"""Citations in a text: `[[S:1,3-5]]` names sources 1, 3, 4 and 5.

    Rain is likely [[S:2]], and wind [[S: 4 - 6, 9]].

They count wherever they stand, in code and in fences too: a text may be of any format, and a
source that is named once too often harms less than one that is lost. What is no selector,
such as `[[S:]]` or `[[S:x]]`, is prose. A number that no source has is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from callblocks.model.selector import chosen, joined, parse_selector

__all__ = ("CITATION", "cited")

# No bracket is inside, so the text between two openings is looked at once.
CITATION = re.compile(r"\[\[S:([0-9,\s–-]+)\]\]")
"""A citation; its group is the selector."""


def cited(text: str, known: Collection[int]) -> list[int]:
    """The known sources that a text cites, once each, smallest first."""
    found = (parse_selector(citation[1]) for citation in CITATION.finditer(text))
    return chosen(joined(pair for ranges in found if ranges for pair in ranges), known)
