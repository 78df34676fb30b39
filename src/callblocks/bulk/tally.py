"""Counts of a corpus. Tallies of parts add up to that of the whole, in any grouping.

What one program would have read of these logs is not known while they are read: it is the dialect
that reads most, and all units have to be counted first. So every tally has, for each dialect, what
a strict reader of that dialect alone would have got; the report then takes one of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ("MAX_SAMPLES", "Saved", "Tally", "count", "merge", "saved", "top")

MAX_SAMPLES = 3
"""So many places are noted for each code."""

CHARS_PER_TOKEN = 4


class Tally(msgspec.Struct, omit_defaults=True):
    """Counts of a part of a corpus."""

    records: int = 0
    bytes: int = 0
    faulty: dict[str, int] = {}
    """Records and files that could not be read, by code."""
    texts: int = 0
    chars: int = 0
    without_text: int = 0
    with_calls: int = 0
    calls: dict[str, int] = {}
    clean: dict[str, int] = {}
    """Calls by dialect that needed no repair."""
    tools: dict[str, int] = {}
    problems: dict[str, int] = {}
    malformed: dict[str, int] = {}
    repaired: int = 0
    unended: int = 0
    unknown: dict[str, int] = {}
    unfit: dict[str, int] = {}
    """Calls by tool whose input does not fit it."""
    verdicts: dict[str, int] = {}
    rules: dict[str, int] = {}
    """Calls by the rule that decided."""
    per_text: dict[int, int] = {}
    called_chars: int = 0
    read_whole: dict[str, int] = {}
    """Texts by the dialect whose strict reader would have got all their calls."""
    read_chars: dict[str, int] = {}
    broken_texts: int = 0
    """Texts with a block that is no call, of which the model can be told why."""
    repeats: int = 0
    """Texts whose call is made again, by its name, in the next text of the same record."""
    read_repeats: dict[str, int] = {}
    native: int = 0
    native_faults: int = 0
    """Native calls whose arguments are no JSON object."""
    native_mended: int = 0
    in_content: int = 0
    """Calls that stand in the text of a message without native calls."""
    converted: int = 0
    kept: dict[str, int] = {}
    """Texts that were not converted, by what the target cannot say."""
    samples: dict[str, list[str]] = {}


def count(counts: dict[str, int], name: str, by: int = 1) -> None:
    """Add to a count; a name of a model is cut where it is long."""
    name = name if len(name) <= 100 else f"{name[:99]}…"
    counts[name] = counts.get(name, 0) + by


def merge(total: Tally, more: Tally) -> None:
    """Add a tally to another."""
    for name in Tally.__struct_fields__:
        old, new = getattr(total, name), getattr(more, name)
        if isinstance(new, int):
            setattr(total, name, old + new)
        elif name == "samples":
            for code, places in more.samples.items():
                known = total.samples.setdefault(code, [])
                known += places[: MAX_SAMPLES - len(known)]
        else:
            for key, number in new.items():
                old[key] = old.get(key, 0) + number


def top(counts: Mapping[str, int], most: int = 0) -> list[tuple[str, int]]:
    """Return counts, the largest first and equal ones by name; with `most`, the rest as one."""
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if not most or len(rows) <= most:
        return rows
    rest = rows[most - 1 :]
    return [*rows[: most - 1], (f"{len(rest)} others", sum(number for _, number in rest))]


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """What callblocks reads of a corpus that a strict reader of one dialect does not."""

    baseline: str
    """The dialect of that reader: the given one, or the one that reads most calls."""
    calls: int
    got: int
    repaired: int
    others: int
    lost_texts: int
    lost_tokens: int
    """Of these texts, which the model would have to write again, at four characters each."""
    told_texts: int
    repeats: int
    native: int
    native_faults: int
    native_mended: int
    in_content: int


def saved(tally: Tally, baseline: str = "") -> Saved:
    """Return what is saved over a strict reader of `baseline`; "" is the one that reads most."""
    if not baseline:
        baseline = next((name for name, _ in top(tally.clean)), "")
    got, calls = tally.clean.get(baseline, 0), sum(tally.calls.values())
    own = tally.calls.get(baseline, 0)
    lost = tally.called_chars - tally.read_chars.get(baseline, 0)
    return Saved(
        baseline=baseline,
        calls=calls,
        got=got,
        repaired=own - got,
        others=calls - own,
        lost_texts=tally.with_calls - tally.read_whole.get(baseline, 0),
        lost_tokens=lost // CHARS_PER_TOKEN,
        told_texts=tally.broken_texts,
        repeats=tally.repeats - tally.read_repeats.get(baseline, 0),
        native=tally.native,
        native_faults=tally.native_faults,
        native_mended=tally.native_mended,
        in_content=tally.in_content,
    )
