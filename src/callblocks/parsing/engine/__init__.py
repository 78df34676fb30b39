"""The parts of the parse loop: they find and read blocks in text that arrives in pieces.

Order of reading: parse_state.py (the pending text and the sink of
events), block.py (one block while a dialect reads it), markers.py and openers.py (who may open a
block), then the special cases: fences, quotations, reasoning, unread calls.

May import: core, parsing.values.
"""
