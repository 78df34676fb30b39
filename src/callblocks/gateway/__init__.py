"""The gateway: any model that writes text becomes a model with native tool calls.

A client sends a request of its own protocol (`wires`); it becomes one `GatewayRequest`
(`exchange`). `engine` writes it for the model, in the model's own dialect (`history`), reads the
reply as it arrives, asks again where a demand was not held, and gives one stream of events.
`arguments` turns the raw input of a call into growing JSON. A writer of the wire sends it.

`upstreams` finds the model by its name, `config` reads the TOML file, `app` has the routes.
May import: every package but `server` and `cli`; from `server` nothing. Start with exchange.py.
"""
