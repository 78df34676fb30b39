"""HTTP to public addresses only, and the socket that a server listens at.

client.py checks a request and follows redirects; http_exchange.py makes one connection and unpacks
the answer within limits; net_guard.py resolves a name once and checks every address against the
rules of addresses.py, which also opens the socket of a server. Start with net_guard.py. May import:
core, guard.workers.
"""
