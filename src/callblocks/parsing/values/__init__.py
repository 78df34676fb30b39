"""Values inside calls: JSON, Python literals, YAML, braces, and text typed by a schema.

Scanners (strict_json.py, python_values.py) find the end of a value in text that arrives in pieces.
Readers take text that is all there. tolerant_json.py reads JSON as models write it and names each
repair. binding.py maps positional arguments and a body to the parameters of a tool.

Start with strict_json.py. May import: core, parsing.limits.
"""
