"""Shapes: syntaxes that several dialects share. A dialect gives its markers and keys to a shape.

    json_calls, row*      markers around call objects in JSON
    named_json, named_*   a name between markers, then its input as JSON
    xml_*, tags           calls and arguments in tags; `function_tags`, `invoke` and others on top
    elements, trees       arguments in tags that are their names
    python_calls          calls in Python; `python_marked` between markers
    brace_calls           values in braces with a quote marker of their own
    channels              messages with headers
    action_lines          labels at line starts (ReAct)

A shape has a dialect class, a reader for one block, and grammar rules. Start with json_calls.py.
"""
