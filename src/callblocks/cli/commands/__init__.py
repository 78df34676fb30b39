"""One module for each command, imported when it is called.

A group of commands (`office.py`, `timeline.py`, `models.py`, `mcp.py`) has the table of its
commands at its head. `sample/` is what `callblocks demo` lays for a person to work on. A new
command is a module here and a line in the table of `cli/main.py`. May import: everything.
"""
