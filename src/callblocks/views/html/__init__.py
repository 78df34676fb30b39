"""Pages of HTML: no script, nothing loaded from elsewhere, every text escaped.

timeline_page.py draws a timeline with its files, report_page.py a report; page_markdown.py is the
Markdown of both. Start with timeline_page.py. May import: views.chat, timeline.
"""
