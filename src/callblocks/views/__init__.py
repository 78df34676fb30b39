"""Views: pure functions of events, of text and of timelines.

    chat/        prose, and calls in groups
    text/        a text explained, listed, or rewritten in another dialect
    terminal/    rows for a terminal
    html/        a timeline as one page
    ui/          streams for clients, a module or folder for each protocol
    model_view/  a timeline as the text that is sent to a model

Start with chat/chat.py. May import: core, parsing, dialects, policy, approvals, timeline, models.
"""
