"""The UI message stream of the AI SDK, versions 5 to 7.

stream.py writes the chunks of a turn, ui_messages.py a chat that is loaded again, and reads what a
client posts. Start with stream.py.
"""
