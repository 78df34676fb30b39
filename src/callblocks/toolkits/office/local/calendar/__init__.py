"""Calendars in a folder: one iCalendar file for each event.

Files of others are expanded by counted work (`Work` in occurrences.py), never by trust. Start with
calendars.py.
"""
