"""`python -m bench`: how fast each dialect reads, beside a pass-through of the same pieces."""

from __future__ import annotations

from bench.parsing import main

main()
