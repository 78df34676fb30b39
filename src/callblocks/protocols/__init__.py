"""Protocols of others, spoken both ways.

mcp/ is the Model Context Protocol: its servers' tools become tools of ours (a client), and our
tools become theirs (a server). Start with mcp/servers.py. May import: toolkits, views, runtime and
what stands below; a session is given what is made here.
"""
