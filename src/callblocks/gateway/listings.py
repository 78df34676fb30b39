"""Lists of models, in the shapes that clients of each wire read.

GET /v1/models        OpenAI's `data`, with Anthropic's fields in each entry
GET /api/tags         Ollama's `models`; POST /api/show says what one of them can do
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from callblocks.gateway.config import GatewayModel

__all__ = ("model_entry", "model_list", "ollama_model", "ollama_tags")

# Clients sort by it; the gateway does not know when a model was made.
_CREATED = 1_700_000_000
_CREATED_AT = datetime.fromtimestamp(_CREATED, UTC).isoformat().replace("+00:00", "Z")


def model_entry(name: str) -> dict[str, Any]:
    """Return one model, as OpenAI and Anthropic describe it: one object has the fields of both."""
    return {
        "id": name,
        "object": "model",
        "created": _CREATED,
        "owned_by": "callblocks",
        "type": "model",
        "display_name": name,
        "created_at": _CREATED_AT,
    }


def model_list(names: Iterable[tuple[str, GatewayModel]]) -> dict[str, Any]:
    """Return all models. `models` is empty: Codex reads it, and has its own for what is missing."""
    data = [model_entry(name) for name, _ in names]
    return {
        "object": "list",
        "data": data,
        "has_more": False,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "models": [],
    }


def ollama_tags(names: Iterable[tuple[str, GatewayModel]]) -> dict[str, Any]:
    """Return all models as Ollama lists them."""
    return {"models": [_tag(name) for name, _ in names]}


def ollama_model(name: str, model: GatewayModel) -> dict[str, Any]:
    """Return what Ollama says about one model: that it has tools is what clients look for."""
    context = min((one.entry.context or 0 for one in model.upstreams), default=0)
    known = {"general.architecture": "callblocks"}
    info = {**known, "callblocks.context_length": context} if context else known
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": _tag(name)["details"],
        "model_info": info,
        "capabilities": ["completion", "tools"],
        "modified_at": _CREATED_AT,
    }


def _tag(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "model": name,
        "modified_at": _CREATED_AT,
        "size": 0,
        "digest": "",
        "details": {
            "parent_model": "",
            "format": "",
            "family": "callblocks",
            "families": ["callblocks"],
            "parameter_size": "",
            "quantization_level": "",
        },
    }
