"""A timeline as a chat, rows for a terminal, Markdown or one HTML page."""
