"""What is shown: pure functions of events, of text and of timelines.

    chat/        prose, and calls in groups
    text/        a text that is explained, listed or rewritten
    terminal/    rows for a terminal
    html/        a timeline as one page
    ui/          streams for clients, a folder for each protocol
    model_view/  a timeline as a model reads it

Start with chat/chat.py. May import: core, parsing, dialects, policy, approvals, timeline, models.
"""
