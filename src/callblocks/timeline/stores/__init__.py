"""Stores of blocks: an append-only, hash-chained log in SQLite or PostgreSQL.

`store` is the protocol, `log` the part that both share, `group` the group commit, `chain` the
hashes, `placing` the assignment of numbers. `sqlite_*` and `postgres_*` are the two databases.
`verify` checks a timeline against its chain; `export` and `importing` move it as JSON lines.

Start with store.py, then group.py and chain.py.
"""
