"""Detection of a refusal because the request does not fit into the model's context.

Each server has its own words for it, and few have a code:

    context_length_exceeded                                         OpenAI, Groq, DeepSeek
    This model's maximum context length is 4096 tokens …            OpenAI, vLLM, OpenRouter
    request (9000 tokens) exceeds the available context size …      llama.cpp
    prompt is too long: 210000 tokens > 200000 maximum              Anthropic
    The input token count (1200000) exceeds the maximum number …    Gemini

A phrase counts only with a word for "too much" beside it, so that a server which does not know a
field named `context_window` does not match.
"""

from __future__ import annotations

import re

__all__ = ("is_context_full",)

_CODES = r"context_length_exceeded|exceed_context_size|context_window_exceeded|max_prompt_tokens"
_ROOM = (
    r"(?:(?:maximum|model|model'?s|available|total|input|prompt) )*"
    r"(?:context|sequence|prompt|model|input)[ _-]*(?:length|size|window|limit)"
)
_MUCH = r"(?:exceed|overflow|longer than|larger than|greater than|too (?:long|large|big|many)|past)"
_PHRASES = (
    _CODES,
    rf"{_MUCH}[^.\n]{{0,80}}{_ROOM}",
    rf"{_ROOM}[^.\n]{{0,80}}{_MUCH}",
    # "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"
    r"maximum (?:context|prompt|model|sequence) length (?:is|of) [\d,]+",
    r"(?:prompt|input|request|messages?|conversation) (?:is|are) too (?:long|large)\b",
    r"(?:prompt|input) (?:\([^)]*\) )?is (?:longer|larger) than",
    r"tokens?[^.\n]{0,80}exceeds? the (?:maximum|limit|model)",
    r"exceeds? the (?:maximum|max) (?:number of )?(?:allowed )?(?:input )?tokens",
    r"too many (?:input |prompt )?tokens",
    r"tokens?`? must (?:be|have) (?:<=|less than|at most)|must have less than [\d,]+ tokens",
    r"reduce the length of (?:the|your) (?:messages|prompt|input)",
    r"context length of only",
)
_FULL = re.compile("|".join(_PHRASES), re.IGNORECASE)
_RATE = re.compile(r"per (?:second|minute|hour|day)|\b[tr]p[mdh]\b|rate.?limit", re.IGNORECASE)
_LOOKED_AT = 4000


# Words of servers, not codes: few servers have a code, and proxies often drop it.
def is_context_full(words: str) -> bool:
    """Return whether an error's code and message say that the prompt, or the reply, is too long."""
    start = words[:_LOOKED_AT]
    return _FULL.search(start) is not None and _RATE.search(start) is None
