"""A turn as clients of user interfaces read it: one folder for each protocol.

ai_sdk/ is the UI message stream of the AI SDK. A protocol takes the events of a turn and gives the
chunks of its stream; it keeps nothing and asks nobody. May import: core, views.chat, timeline.
"""
