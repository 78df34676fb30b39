"""Tools: declaring them, checking the input of a call, and the registry.

`declare` turns a typed function into a `Tool`; `typed_input` and `typed_check` derive its schema
and its check from the signature. `foreign` and `schema_check` do the same for tools known by a JSON
Schema only. `check` combines a check with `lenient`, which repairs unambiguous slips of a model.
`registry` holds tools by name, `context` is what a running tool may use.

Start with tool.py and declare.py. May import: model.
"""
