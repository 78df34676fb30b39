"""A turn as clients of user interfaces read it: one module or folder for each protocol.

ai_sdk/ is the UI message stream of the AI SDK, agui.py has the events of AG-UI. A protocol takes
the events of a turn and gives the chunks of its stream; it keeps nothing and asks nobody. May
import: core, views.chat, timeline.
"""
