"""Parsing: the machinery that every dialect is built from. It knows no dialect by name.

Text goes through four layers. `scanner` holds the text that has arrived and is not consumed yet,
and `markers` finds an opener in it although the text may stop inside one. `engine` is the parse
loop: it emits prose, and hands the text behind an opener to the dialects that own that opener. A
dialect reads a `block` with a generator. `shapes` has the readers that several dialects share.

Beside the layers: `json_scan`, `python_scan`, `yaml_core`, `brace_values` and `repair` read values;
`binding` and `typed` fit text to a tool's parameters; `grammar`, `expressions` and `schema_rules`
write grammars for constrained decoding; `thinking` reads reasoning; `unread` reports calls that no
dialect read.

Start with engine.py, then block.py. May import: model. Nothing here does I/O.
"""
