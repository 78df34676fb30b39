"""The Google Workspace backend, through Google's published client.

`service.py` sends requests and decides on retries, `transport.py` sends exactly one HTTP request,
`faults.py` maps failures to codes, `tokens.py` and `auth.py` hold the sign-in. Each other module is
one service with the interface of backend.py.

Start with service.py. May import: toolkits.workspace.
"""
