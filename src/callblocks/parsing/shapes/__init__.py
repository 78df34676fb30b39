"""Shapes that several dialects share; a dialect gives one its markers and quirks."""
