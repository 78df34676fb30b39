"""The encoding of outcomes and messages as blocks.

encode.py chooses by the kind of result that a tool's traits name: plain, file, exec, web. Order for
every tool: code, call, notices, results. Start with encode.py. May import: core, tools,
timeline.artifacts.
"""
