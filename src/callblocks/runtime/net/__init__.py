"""HTTP to public addresses only.

`guard` is the one door: it resolves a name, checks every address and connects to exactly the
address that was checked. `url` and `hosts` parse strictly, `addresses` and `ports` hold the tables,
`exchange` sends one request, and `client` follows redirects.

Start with guard.py.
"""
