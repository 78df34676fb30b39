"""Fields that every request to an OpenAI-compatible server has.

{"model": "qwen3-8b", "stream": true, "stream_options": {"include_usage": true}, …}
"""

from __future__ import annotations

from typing import Any

from callblocks.models.chat_messages import chat_tool
from callblocks.models.endpoint import EndpointSettings
from callblocks.models.endpoint_faults import Faults
from callblocks.models.model import Request

__all__ = ("request_body",)


def request_body(
    request: Request, settings: EndpointSettings, faults: Faults, asked: dict[str, Any]
) -> dict[str, Any]:
    """Return the body: the common fields, `asked`, and the settings' own over both.

    A field that is `None` is left out. A grammar for a server that takes none is refused: the reply
    would not be constrained by it.
    """
    body: dict[str, Any] = {
        "model": settings.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        settings.tokens_field: request.max_tokens,
        "temperature": request.temperature,
        "stop": list(request.stop) or None,
        "tools": [chat_tool(spec) for spec in request.tools] or None,
        # Later entries win: the caller's fields over the common ones, and the person's settings
        # over both.
        **asked,
        **settings.extra,
    }
    if request.grammar:
        _put_grammar(body, request.grammar, settings.grammar_field, faults)
    return {name: value for name, value in body.items() if value is not None}


# Refused rather than dropped: a caller that asks for a grammar relies on the form of the reply.
def _put_grammar(body: dict[str, Any], grammar: str, field: str, faults: Faults) -> None:
    if not field:
        raise faults.error(
            "model_refused",
            "is not known to hold a reply to a grammar; set grammar_field to the field that it "
            'takes ("grammar" for llama.cpp), or ask without one',
        )
    outer, _, inner = field.partition(".")
    body[outer] = {**(body.get(outer) or {}), inner: grammar} if inner else grammar
