"""Modules for other frameworks: each gives one of them tool calls that models write as text.

text_tools.py is what they share: teaching, history, reading. Each module beside it imports its
framework, so it is imported by name (`callblocks.adapters.pydantic_model`), by programs that have
that framework. An adapter brings no dependency: the version is that of its user. `training` needs
none. May import: everything but the command line.
"""
