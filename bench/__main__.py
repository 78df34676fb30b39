"""`python -m bench`: how fast each dialect reads, and what running a call costs."""

from __future__ import annotations

from bench import parsing, running

running.main()
parsing.main()
