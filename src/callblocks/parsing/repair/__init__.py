"""Repairs of whole calls that are not quite JSON or Python, each with the code of a problem.

calls.py takes a text that is over and returns the call objects in it; brackets.py finds where open
brackets close again. A repair never invents a value. May import: core, parsing.values.
"""
