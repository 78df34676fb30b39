"""Finding: full-text search in the files of a workspace.

Files are cut into passages (chunks.py) whose folded words (words.py) go into an SQLite FTS5 table
(store.py, index.py). `refreshing.py` keeps the index up to date within a time budget on each
search; `ingesting.py` reads files on request. PDF, DOCX and HTML are parsed in a locked-down child
process (apart.py, child.py).

Start with looking.py, which answers one search. May import: tools, runtime, and toolkits.files.
"""
