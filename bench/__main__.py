"""`python -m bench`: how fast dialects read; what a call, a view, a block and a stream cost."""

from __future__ import annotations

from bench import appending, parsing, rendering, running, serving

running.main()
parsing.main()
rendering.main()
appending.main()
serving.main()
