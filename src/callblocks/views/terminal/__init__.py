"""Rows for a terminal: kinds of text, which `cli.terminal` paints.

terminal.py draws chats and timelines; tables.py says what came of a run, and has the tables
of commands. Start with terminal.py. May import: views.chat.
"""
