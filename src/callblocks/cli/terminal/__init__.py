"""The terminal of a command: pieces in, rows out, questions to the person.

io.py reads files and standard input in pieces; paint.py prints rows in colour or plain, and draws
what still changes; ask.py puts an approval to the person. Start with paint.py. May import: views.
"""
