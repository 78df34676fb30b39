"""Web: search by engines, and reading of pages.

`searching.py` sends a query to the configured engines and fuses their ranked lists; each engine is
an adapter (brave.py, tavily.py, searxng.py). `fetching.py` reads one page through the guarded
client, `robots.txt` and a cache. Everything that comes from here is foreign text and taints the
turn.

Start with tools.py. May import: model, tools, runtime.net.
"""
