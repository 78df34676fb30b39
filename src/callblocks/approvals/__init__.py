"""Approvals: a person's yes or no to one exact call.

An approval is bound to a fingerprint of tool, checked input and policy (approval.py). Answers are
kept in a book (book.py, SQLite), are used once, and expire. Grants cover one tool for some minutes
and can be revoked. question.py is the contract with whoever asks the person. Nothing here runs a
call: `runtime.gate` asks and obeys. May import: core, tools, policy, guard.
"""
