"""Approvals: a person's yes or no to one exact call; durable, bound to that call, used once.

`fingerprint` binds a question to tool, checked input, policy and workspace. `book` records
questions and answers in a private SQLite file (`store`, `records`). Time is measured by two clocks
(`moment`). Nothing here runs a call: `runtime.approving` asks and obeys.

Start with book.py.
"""
