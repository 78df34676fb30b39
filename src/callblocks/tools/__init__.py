"""Tools: declared as typed functions, checked against their schema, kept in a registry.

declare.py has `@tool`; typed_input.py and schema.py make the JSON Schema of a function; check.py
checks the input of a call and says what is wrong in words that a model can act on; registry.py
knows tools by name. Start with declare.py. May import: core.
"""
