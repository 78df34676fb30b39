"""Values that every other package passes on.

Calls, events, outcomes, blocks and errors are frozen `msgspec` structs without behaviour of their
own. The rest are pure functions on them: paths of a timeline, redaction of secrets, URLs in one
spelling, JSON values.

Start with calls.py and events.py; errors.py draws the tree of exceptions. Nothing here reads or
writes anything. May import: nothing of callblocks.
"""
