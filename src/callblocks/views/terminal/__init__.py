"""Rows for a terminal: chats, plans, summaries, tables."""
