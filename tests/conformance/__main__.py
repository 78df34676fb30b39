"""`make conformance`: read the cases of other parsers, and say where we differ and why.

python -m conformance [part of a case's name]
"""

from __future__ import annotations

import sys
from collections import Counter

from conformance.agreeing import difference
from conformance.reasons import REASONS
from conformance.vectors import FOLDER, unflagged


def main() -> int:
    """Print what differs, then how much agrees; differences without a reason are a failure."""
    if not FOLDER.is_dir():
        print(f"there are no cases here: {FOLDER} is missing")
        return 0
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    tally: Counter[tuple[str, bool]] = Counter()
    unexplained = 0
    for case in unflagged():
        if wanted not in case.id:
            continue
        what = difference(case)
        tally[case.id.partition(":")[0], not what] += 1
        if what:
            reason = REASONS.get(case.id, "")
            unexplained += not reason
            print(f"{case.id}\n    {what}\n    {reason or 'NO REASON'}")
    files = sorted({name for name, _ in tally})
    for name in files:
        agree, differ = tally[name, True], tally[name, False]
        print(f"{name:32} {agree:4} of {agree + differ:4}{'  !' if differ else ''}")
    agree = sum(count for (_, well), count in tally.items() if well)
    print(f"{agree} of {tally.total()} agree, {unexplained} differ without a reason")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
