"""HTTP to public addresses only.

client.py checks a request and follows redirects; http_exchange.py makes one connection and unpacks
the answer within limits; net_guard.py resolves a name once and checks every address against the
rules of addresses.py. Start with net_guard.py. May import: core, guard.workers.
"""
