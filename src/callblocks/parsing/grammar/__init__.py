"""Grammars that hold a decoder to a dialect.

expressions.py and grammar.py are the notation-free form; json_rules.py and argument_rules.py make
rules from JSON Schemas; gbnf.py, lark.py and structural_tag.py print them for llama.cpp,
llguidance and xgrammar. Start with grammar.py. May import: core, parsing.values.
"""
