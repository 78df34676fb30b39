"""Forms that several dialects share: a dialect gives markers, keys and quirks to one of them.

Call objects in JSON, and a name with JSON behind it (json_calls.py), arguments in tags
(xml_parameters.py, tag_arguments.py, element_bodies.py), Python calls (python_marked.py), and
braces (brace_calls.py). Start with json_calls.py. May import: core and the rest of parsing.
"""
