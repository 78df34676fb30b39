"""A text, with what was read in it: explained, listed, rewritten in another dialect.

spec_functions.py has the functions that the specifications name.
"""
