"""`python -m bench.documents`: what each kind of document costs, alone and as a call.

Warm is the writer itself, its libraries loaded; a call starts a process for it, as the tools do.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import get_args

from bench.timing import print_table
from callblocks.toolkits.documents.render_program import make
from callblocks.toolkits.documents.render_protocol import Given, Kind, Made, Outside, RenderJob
from callblocks.toolkits.documents.write_document import render_apart
from callblocks.tools.tool import Context

__all__ = ("main",)

ROUNDS = 5
_ROWS = "\n".join(f"| {month} | {month * 37} | +{month} % |" for month in range(1, 13))
REPORT = f"""\
# The year

Some **words** on what happened, and `code`, for a page or two.[^1]

## Months

| Month | Trips | Change |
|------:|------:|-------:|
{_ROWS}

## Why

{"More words that fill a paragraph of an ordinary length. " * 12}

```python
def arrival(start: float, miles: float, knots: float = 9.0) -> float:
    return start + miles / knots
```

- [x] done
- [ ] to do

[^1]: A note.
"""


def main() -> None:
    """Time each kind, and print the table."""
    rows = [[kind, *_row(kind)] for kind in get_args(Kind)]
    head = ["document", "warm", "as a call", "bytes"]
    print_table("Documents: one report of two pages", head, rows)


def _row(kind: Kind) -> list[str]:
    job = RenderJob(kind=kind, name="report", content=REPORT)
    outside = Outside(lambda heard: None, Given)
    made = make(job, outside)
    assert isinstance(made, Made), made
    warm = _median(lambda: make(job, outside))
    called = _median(lambda: render_apart(job, lambda name: None, Context()))
    return [f"{warm * 1000:.0f} ms", f"{called * 1000:.0f} ms", f"{len(made.content):,}"]


def _median(job: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        began = perf_counter()
        job()
        times.append(perf_counter() - began)
    return median(times)


if __name__ == "__main__":
    main()
