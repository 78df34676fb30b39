"""Chats as AI SDK clients talk: a message goes in, the stream of a turn comes back.

chat_routes.py has the handlers, chats.py the turns that run, ui_events.py their streams.
"""
