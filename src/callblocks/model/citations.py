"""Citations in a text: `[[S:1,3-5]]` cites sources 1, 3, 4 and 5.

    Rain is likely [[S:2]], and wind [[S: 4 - 6, 9]].

They count anywhere, also in code and in fences: a text may have any format, and a source cited once
too often does less harm than one that is lost. A bracket without a valid selector, such as `[[S:]]`
or `[[S:x]]`, is prose. A number that no source has is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from callblocks.model.selector import chosen, joined, parse_selector

__all__ = ("CITATION", "cited")

# Linear: no bracket can match inside.
# A citation; its group is the selector. It matches no bracket inside, so the text between two
# openings is scanned once and the search is linear.
CITATION = re.compile(r"\[\[S:([0-9,\s–-]+)\]\]")


def cited(text: str, known: Collection[int]) -> list[int]:
    """Return the known sources that a text cites, once each, smallest first."""
    found = (parse_selector(citation[1]) for citation in CITATION.finditer(text))
    return chosen(joined(pair for ranges in found if ranges for pair in ranges), known)
