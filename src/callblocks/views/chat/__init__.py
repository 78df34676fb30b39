"""A chat: prose, and calls with their results in groups.

chat.py groups the events of a parser and those of a turn, and draws one group; timeline_chat.py
shows the blocks of a timeline; tool_blocks.py has the `<tool>` blocks of chat text.
"""
