"""Pages of HTML: no script, nothing loaded from elsewhere, every text escaped.

timeline_page.py draws a timeline with its files; page_markdown.py is its Markdown, and finds the
files of the pages that a server sends. Start with timeline_page.py. May import: views.chat,
timeline.
"""
