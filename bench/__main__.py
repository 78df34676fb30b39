"""`python -m bench`: dialects, calls, views, blocks, streams, tools and the page: their cost."""

from __future__ import annotations

from bench import appending, documents, page, parsing, rendering, running, serving, workspace

running.main()
parsing.main()
rendering.main()
documents.main()
appending.main()
serving.main()
workspace.main()
page.main()
