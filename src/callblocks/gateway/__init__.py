"""The gateway: any model that writes text becomes a model with native tool calls.

A client sends a request of its own protocol (`wires`); it becomes one `GatewayRequest`
(`exchange`). `engine` writes it for the model, in the model's own dialect (`history`), reads the
reply as it arrives, asks again where a demand was not held, and gives one stream of events.
`arguments` turns the raw input of a call into growing JSON. A writer of the wire sends it.

`config` reads the TOML file, `pool` finds the model by its name and opens it, `application` has the
routes. A new wire is a module of `wires`, a line in `all_wires` (server.py), and its path and the
shape of its errors in `_post_routes` and `_wire_of` (application.py).
May import: every package but `server` and `cli`. Start with exchange.py.
"""
