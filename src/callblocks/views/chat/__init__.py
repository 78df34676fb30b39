"""A chat: prose, and calls with their results in groups.

chat.py groups the events of a parser, turn_chat.py those of a turn, timeline_chat.py the blocks of
a timeline; groups.py draws one group; tool_blocks.py has the `<tool>` blocks of chat text.
"""
