"""HTTP to public addresses only.

net_guard.py resolves a name once and checks every address; client.py sends a request, follows
redirects and unpacks the response within limits; http_messages.py checks what goes out and in.
Start with net_guard.py. May import: core, guard.workers.
"""
