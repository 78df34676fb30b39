"""Selectors of numbers and ranges, by which sources are picked and cited: `1,3-5`.

    1, 3 - 5      1,3-5        spaces are allowed
    5-3,1,2       1-5          a reversed range is swapped; neighbours join, smallest first

A range is never expanded: it is compared with the existing numbers, so that `1-999999999` costs
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TypeAlias

__all__ = (
    "CITATION",
    "Ranges",
    "chosen",
    "cited",
    "joined",
    "parse_selector",
    "ranges_of",
    "selector_text",
)

# First and last number of each range.
Ranges: TypeAlias = tuple[tuple[int, int], ...]

_PART = re.compile(r"\s*([0-9]{1,15})\s*(?:[-–]\s*([0-9]{1,15})\s*)?")


def parse_selector(text: str) -> Ranges | None:
    """Parse a selector into the fewest ranges; `None` for an invalid one."""
    found: list[tuple[int, int]] = []
    for part in text.split(","):
        numbers = _PART.fullmatch(part)
        if numbers is None:
            return None
        first = int(numbers[1])
        found.append((first, first if numbers[2] is None else int(numbers[2])))
    return joined(found)


def selector_text(ranges: Ranges) -> str:
    """Return the ranges as a selector."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the fewest ranges that contain the same numbers, smallest first."""
    found: list[tuple[int, int]] = []
    for first, last in sorted((min(pair), max(pair)) for pair in ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def chosen(ranges: Ranges, known: Iterable[int]) -> list[int]:
    """Return the known numbers in the ranges, once each, smallest first."""
    picked: list[int] = []
    # A merge of two sorted sequences: each range and each number is visited once.
    waiting = iter(joined(ranges))
    first, last = next(waiting, (1, 0))
    for number in sorted(set(known)):
        while number > last:
            # Past all ranges: no number exceeds infinity, and none lies in (inf, inf).
            first, last = next(waiting, (float("inf"), float("inf")))
        if first <= number:
            picked.append(number)
    return picked


def ranges_of(numbers: Iterable[int]) -> Ranges:
    """Return the fewest ranges that contain exactly these numbers."""
    return joined((number, number) for number in numbers)


# --- Citations in a text: `[[S:1,3-5]]` cites sources 1, 3, 4 and 5 ---
#
#     Rain is likely [[S:2]], and wind [[S: 4 - 6, 9]].
#
# They count anywhere, also in code and in fences: a text may have any format, and a source cited
# once too often does less harm than one that is lost. A bracket without a valid selector, such as
# `[[S:]]` or `[[S:x]]`, is prose. A number that no source has is left out.

# Linear: no bracket can match inside.
# A citation; its group is the selector. It matches no bracket inside, so the text between two
# openings is scanned once and the search is linear.
CITATION = re.compile(r"\[\[S:([0-9,\s–-]+)\]\]")


def cited(text: str, known: Collection[int]) -> list[int]:
    """Return the known sources that a text cites, once each, smallest first."""
    found = (parse_selector(citation[1]) for citation in CITATION.finditer(text))
    return chosen(joined(pair for ranges in found if ranges for pair in ranges), known)
