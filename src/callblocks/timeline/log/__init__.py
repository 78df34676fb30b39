"""The log: blocks in an append-only, hash-chained table.

log.py has the contract of a store and the part that both share, which makes callers who wait at
the same time share one commit; open_store.py opens the store of an address; transfer.py checks the
chain, and exports and imports JSON lines. A new store also needs its search (recall/search.py).
Start with log.py. May import: core, timeline.artifacts.
"""
