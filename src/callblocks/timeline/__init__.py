"""Timelines: a durable record of what happened, and how a model reads it again.

`stores` keep blocks in an append-only, hash-chained log (SQLite or PostgreSQL). `recorder` writes a
session as it happens, through `writer` and `emitting` (outcomes to blocks). `state` is what the
entries amount to at a moment. `keeping` stores files by their digest. `reading` brings blocks,
files, sources and skills before the model again, and hides them.

Start with recorder.py and state.py.
"""
