"""Upstreams: the models that answer, by the names that clients use.

What a client demands of a reply is held by the model's server itself where it can:

    gbnf              llama.cpp, vLLM, weights on this machine: a grammar of the model's dialect
    structural_tag    SGLang: the same, in the notation of xgrammar
    json_schema       Ollama, LM Studio: the reply is one JSON object that holds calls

A demanded call is asked for in text mode then, for servers refuse a grammar beside tools. Where a
server cannot hold a demand, the reply is checked, and the model is asked again (`engine`).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from callblocks.core.errors import CallerError
from callblocks.core.specs import ToolSpec
from callblocks.dialects import dialects
from callblocks.gateway.exchange import GatewayRequest
from callblocks.models.model import Model
from callblocks.models.openai.known_servers import SERVERS, GrammarForm
from callblocks.parsing.dialect import Dialect

__all__ = ("Habits", "Hold", "ModelSettings", "Upstream", "hold_of", "takes_image_links")


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings for the replies of one model.

    `retries` is how often it is asked again within one request, where a call is broken or a demand
    is not held. With `holds_prose` text is sent only when the reply ended without a call, for
    clients that take text before a call for the answer. `compact` teaches short signatures; `None`
    decides by the model's name. `grammars` says whether the server may be given grammars; `None` is
    yes where it is known to take them. With `image_links` its server gets images by their address,
    and fetches them; `None` is yes for the hosted ones that are known. `remarks` adds what was
    mended to each reply, in a field `callblocks`.
    """

    retries: int = 2
    holds_prose: bool = False
    compact: bool | None = None
    grammars: bool | None = None
    image_links: bool | None = None
    remarks: bool = False
    system: str = ""


class Habits(msgspec.Struct):
    """How a model was seen to write. A program that starts anew sees it at the model's first call.

    With `bare_calls` it writes a call as a JSON object alone, or in a code fence, and leaves out
    the markers that it is taught. Shown earlier calls with these markers, it stops calling.
    """

    bare_calls: bool = False


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """One model behind one name. `dialect` is "" where the name of the model decides."""

    name: str
    model: Model
    dialect: str = ""
    settings: ModelSettings = ModelSettings()
    habits: Habits = msgspec.field(default_factory=Habits)


def takes_image_links(upstream: Upstream) -> bool:
    """Return whether the server gets images by their address: as set, else where it is hosted.

    One that runs on a machine of the gateway's owner would fetch from the inside of a network what
    any client names.
    """
    if upstream.settings.image_links is not None:
        return upstream.settings.image_links
    server = SERVERS.get(getattr(upstream.model, "server", ""))
    return server is not None and server.address.startswith("https:")


# --- Demands ---


# The dialect whose calls are one JSON object.
_JSON_DIALECT = "generic_json"


class Hold(msgspec.Struct, frozen=True):
    """How the server holds a reply: the dialect of its calls, a grammar, or fields of the body."""

    dialect: Dialect
    grammar: str = ""
    fields: dict[str, Any] = {}


async def hold_of(request: GatewayRequest, upstream: Upstream, dialect: Dialect) -> Hold | None:
    """Return how a demanded call is held; `None` if none is demanded, or the server cannot.

    The first demand may have to ask a server who it is.
    """
    if request.choice.demand != "required" or not request.tools:
        return None
    names = request.choice.names or tuple(one.name for one in request.tools)
    tools = tuple(one for one in request.tools if one.name in names)
    form = await _form_of(upstream) if tools else ""
    if not form:
        return None
    if form == "json_schema":
        fields = {"response_format": _response_format(tools, parallel=request.parallel)}
        return Hold(dialects[_JSON_DIALECT], fields=fields)
    calls: Literal["required", "one"] = "required" if request.parallel else "one"
    try:
        # Without prose: a small model would write it until it is cut, and never call.
        written = dialect.grammar(tools, form, calls=calls, prose=False)
    except CallerError:
        # A dialect without a grammar, or a schema that has none.
        return None
    if form == "gbnf":
        # The template of a thinking model opens its thought. The grammar leaves no room to close
        # it, so llama.cpp would take the call for a thought.
        is_llama = getattr(upstream.model, "server", "") == "llama.cpp"
        return Hold(dialect, written, {"reasoning_format": "none"} if is_llama else {})
    return Hold(dialect, fields={"response_format": json.loads(written)})


async def _form_of(upstream: Upstream) -> GrammarForm:
    if upstream.settings.grammars is False:
        return ""
    find: Callable[[], Awaitable[GrammarForm]] | None = getattr(
        upstream.model, "find_grammar_form", None
    )
    return await find() if find else getattr(upstream.model, "grammar_form", "")


def _response_format(tools: tuple[ToolSpec, ...], *, parallel: bool) -> dict[str, Any]:
    """Return the JSON Schema of a reply that is one object with calls."""
    calls = [_call_schema(tool) for tool in tools]
    row: dict[str, Any] = {"type": "array", "items": {"anyOf": calls}, "minItems": 1}
    if not parallel:
        row["maxItems"] = 1
    schema = {
        "type": "object",
        "properties": {"tool_calls": row},
        "required": ["tool_calls"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "calls", "schema": schema}}


def _call_schema(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": tool.parameters},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
