"""The encoding of outcomes and messages as blocks.

outcome_blocks.py encodes and decodes an outcome; results.py has one function for each kind of
result that a tool's traits name (file, exec, web); ended_call.py has the plain one. call_blocks.py
has the stamp of a call and its own blocks. Order for every tool: code, call, notices, results.
Start with outcome_blocks.py.
May import: core, tools, timeline.artifacts.
"""
