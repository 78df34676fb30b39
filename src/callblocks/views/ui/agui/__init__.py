"""The events of AG-UI 1.0, for clients that speak it.

stream.py writes the events of a turn, posted.py reads what a client posts: the same two ends as
those of `ai_sdk` beside it. Start with stream.py.
"""
