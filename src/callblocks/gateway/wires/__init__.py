"""Wires: protocols of clients, one module each. No wire knows another.

A wire reads the body of a request into a `GatewayRequest`, and writes the events of the reply,
as a stream or whole. Start with reply_items.py: it has the protocol of each of them.
"""
