"""`python -m bench`: dialects, calls, views, blocks, streams and the page: what each costs."""

from __future__ import annotations

from bench import appending, page, parsing, rendering, running, serving

running.main()
parsing.main()
rendering.main()
appending.main()
serving.main()
page.main()
