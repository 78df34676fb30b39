"""Readers of calls in one notation, whatever dialect they stand in.

row.py reads rows of call objects in JSON, named_reader.py a name and JSON, python_calls.py calls as
Python writes them, tags.py has the tags of text that is not quite XML. foreign_body.py reads
another notation than the one that a dialect's markers announce. announce.py emits the calls of
one block.
May import: core, parsing.engine, parsing.repair, parsing.values.
"""
