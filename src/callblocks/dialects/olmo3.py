"""Python calls on lines between tags, as OLMo 3 writes them::

<function_calls>
get_weather(city="Paris")
ping()
</function_calls>
"""

from __future__ import annotations

from callblocks.parsing import PythonMarked

__all__ = ("Olmo3",)


class Olmo3(PythonMarked):
    """`<function_calls>`, a call on each line, `</function_calls>`."""

    name = "olmo3"
    summary = "Python calls on lines between <function_calls> tags"
    syntax = "<function_calls>\nNAME(KEY=VALUE, …)\n</function_calls>"
    rules = (
        "Between `<function_calls>` and `</function_calls>` stands one call on each line, as in "
        "Python: the tool's name, and its arguments by name in parentheses.",
        "Values are plain Python: strings in quotes, numbers, True, False, None, lists and "
        "dictionaries of these.",
        "You may write prose before and after the tags.",
    )
    opening = "<function_calls>"
    closing = "</function_calls>"
    in_list = False
    reasoning = (("<think>", "</think>"),)
