"""Encoding of outcomes as blocks, by the shape of a tool's result: one module for each.

`emit` is the entry; `shapes` chooses the module, `ended` has its input and output, `call_blocks`
writes the call, `notices` what the model should know, `holdings` gives access to files, artifacts
and sources.

Start with emit.py.
"""
