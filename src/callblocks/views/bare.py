"""What a text begins with that may be a call or an answer: bare JSON, or calls as code.

    {"name": "get_weather", "parameters": {}}     a JSON object
    [get_weather(city="Paris")]                   a list of calls

No marker tells which it is: who guesses the dialect must know the tool or the model.
"""

from __future__ import annotations

import re

__all__ = ("SHOWN", "bare_form")

SHOWN = 80
"""Characters of a text that are enough to tell."""

_FORMS = {
    "a JSON object": re.compile(r"\s*\{\s*[\"'}]"),
    "a list of calls": re.compile(r"\s*\[\s*[A-Za-z_][\w.-]*\("),
    "a JSON list": re.compile(r"\s*\[\s*[\[{\"'\]0-9]"),
}


def bare_form(start: str) -> str:
    """What it is, for people; "" where a text begins with something else."""
    return next((form for form, pattern in _FORMS.items() if pattern.match(start)), "")
