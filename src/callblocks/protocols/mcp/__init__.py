"""MCP both ways: servers' tools under our policy, and our tools for other programs.

As a client: servers.py reads which servers there are, and how ours is set up; launch.py and
http_transport.py reach one; server_link.py keeps the connection; definitions.py keeps what a person
has seen of their tools; tool_call.py makes a `Tool` of each, and an outcome of each result. As a
server: tool_server.py answers requests with our tools.

Everything that a server says is a stranger's word. Its tools are judged as the worst (they destroy
and reach out), its annotations never loosen a policy, its descriptions are shown as a person saw
them first, and its results taint the turn. Start with tool_call.py. May import: what stands below
`protocols`; the package `mcp` is imported where it is used, because that takes a second.
"""
