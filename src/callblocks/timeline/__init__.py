"""Timelines: durable blocks, artifacts and sources, and the tools that read them again.

    log/        the append-only, hash-chained log in SQLite or PostgreSQL
    artifacts/  files by digest, of a type that is told, whole or refused
    codec/      outcomes as blocks
    recall/     react.read, react.hide and skills

recorder.py writes a session down, each step whole or not at all; timeline.py is a timeline and its
state at a moment. Start with recorder.py. May import: core, tools, guard, policy.
"""
