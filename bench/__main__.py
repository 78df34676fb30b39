"""`python -m bench`: how fast each dialect reads; what a call, a view, a block on disk and a stream cost."""

from __future__ import annotations

from bench import appending, parsing, rendering, running, serving

running.main()
parsing.main()
rendering.main()
appending.main()
serving.main()
