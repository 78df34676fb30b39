"""What checking a timeline found.

notes  12 blocks, all as they were written
plans  7 blocks, 2 problems
    3  chain_broken      the hash of block 3 does not fit: it was changed, or what stands before it
"""

from __future__ import annotations

from collections.abc import Sequence

from callblocks.timeline.stores.verify import Finding
from callblocks.views.rows import Row, wrap
from callblocks.views.safe import visible_line

__all__ = ("finding_rows",)


def finding_rows(name: str, count: int, findings: Sequence[Finding], width: int) -> list[Row]:
    """One row that says whether all is well, and one for each finding."""
    blocks = "1 block" if count == 1 else f"{count} blocks"
    head: Row = (("name", visible_line(name)), ("quiet", f"  {blocks}, "))
    if not findings:
        return wrap((*head, ("code", "all as they were written")), width)
    problems = "1 problem" if len(findings) == 1 else f"{len(findings)} problems"
    rows = wrap((*head, ("error", problems)), width)
    for finding in findings:
        row: Row = (
            ("quiet", f"{finding.seq:>5}  "),
            ("error", f"{visible_line(finding.code):<16}"),
            ("plain", f"  {visible_line(finding.message)}"),
        )
        rows += wrap(row, width, (("plain", " " * 25),))
    return rows
