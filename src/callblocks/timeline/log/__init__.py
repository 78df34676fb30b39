"""The log: blocks in an append-only, hash-chained table.

store.py is the contract that both stores keep; log.py is the part that they share, and makes
callers who wait at the same time share one commit; transfer.py checks the chain, and
exports and imports JSON lines. Start with store.py. May import: core, timeline.artifacts.
"""
