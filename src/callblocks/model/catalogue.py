"""Tool types that scissors-cat knows by itself, whatever else a caller has."""

from __future__ import annotations

__all__ = ("CATALOGUE",)

CATALOGUE = (
    *("api_call", "file_ingest", "file_upload", "search", "web_search", "custom"),
    *("gmail_list", "gmail_read", "gmail_send", "gmail_search"),
    *("drive_list", "drive_read", "drive_create", "drive_update", "drive_delete", "drive_search"),
    *("calendar_list", "calendar_events", "calendar_create", "calendar_update", "calendar_delete"),
    *("docs_read", "docs_create", "docs_append", "docs_replace"),
    *("sheets_read", "sheets_write", "sheets_append", "sheets_create", "sheets_clear"),
    *("tasks_list", "tasks_get", "tasks_create", "tasks_update", "tasks_complete", "tasks_delete"),
    "terminal_execute",
)
