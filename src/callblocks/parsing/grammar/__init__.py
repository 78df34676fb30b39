"""Grammars that hold a decoder to a dialect.

expressions.py and grammar.py are the notation-free form; json_rules.py and argument_rules.py make
rules from JSON Schemas; notations.py prints them for llama.cpp (GBNF), llguidance (Lark) and
xgrammar (structural tags). Start with grammar.py. May import: core, parsing.values.
"""
