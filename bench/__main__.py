"""`python -m bench`: dialects, calls, views, blocks, streams, tools and the page: their cost."""

from __future__ import annotations

from bench import (
    appending,
    documents,
    executing,
    load,
    page,
    parsing,
    rendering,
    running,
    serving,
    web,
    workspace,
)

running.main()
executing.main()
parsing.main()
rendering.main()
documents.main()
appending.main()
serving.main()
load.main()
workspace.main()
web.main()
page.main()
