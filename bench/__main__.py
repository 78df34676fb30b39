"""`python -m bench`: how fast each dialect reads; what a call, a view and a block on disk cost."""

from __future__ import annotations

from bench import appending, parsing, rendering, running

running.main()
parsing.main()
rendering.main()
appending.main()
