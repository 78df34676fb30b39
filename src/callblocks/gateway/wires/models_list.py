"""Lists of models: `GET /v1/models`, for clients of OpenAI and of Anthropic.

The list for OpenAI's clients has `data`, and beside it `models`, which Codex reads (0.166): it
refuses the whole list where one required field is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

__all__ = ("ListedModel", "anthropic_model", "list_models", "openai_model")

# Codex takes its instructions from here, for models that it does not know.
_INSTRUCTIONS = (
    "You are a coding agent. You work in the user's folder with the tools that you have been "
    "given, and you go on until the task is done."
)


class ListedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model by the name that clients use. `context` is in tokens, `None` where unknown."""

    name: str
    created: int = 0
    context: int | None = None
    images: bool = False


def list_models(models: Sequence[ListedModel], headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the list as the client reads it; Anthropic's clients send their version."""
    if headers.get("anthropic-version"):
        return {
            "data": [anthropic_model(model) for model in models],
            "first_id": models[0].name if models else None,
            "last_id": models[-1].name if models else None,
            "has_more": False,
        }
    return {
        "object": "list",
        "data": [openai_model(model) for model in models],
        "models": [_codex_model(model, at) for at, model in enumerate(models)],
    }


def openai_model(model: ListedModel) -> dict[str, Any]:
    """Return one model for OpenAI's clients."""
    owner = {"object": "model", "owned_by": "callblocks"}
    return {"id": model.name, "created": model.created, **owner}


def anthropic_model(model: ListedModel) -> dict[str, Any]:
    """Return one model for Anthropic's clients."""
    created = datetime.fromtimestamp(model.created, UTC).isoformat().replace("+00:00", "Z")
    shown: dict[str, Any] = {"type": "model", "id": model.name, "display_name": model.name}
    shown |= {"created_at": created, "lifecycle": "active"}
    if model.context:
        shown["max_input_tokens"] = model.context
    return shown


def _codex_model(model: ListedModel, priority: int) -> dict[str, Any]:
    context = {"context_window": model.context} if model.context else {}
    return {
        "slug": model.name,
        "display_name": model.name,
        "description": None,
        "supported_reasoning_levels": [],
        "shell_type": "shell_command",
        "visibility": "list",
        "supported_in_api": True,
        "priority": priority,
        "availability_nux": None,
        "upgrade": None,
        "base_instructions": _INSTRUCTIONS,
        "supports_reasoning_summaries": False,
        "support_verbosity": False,
        "default_verbosity": None,
        "apply_patch_tool_type": None,
        "truncation_policy": {"mode": "bytes", "limit": 10_000},
        "supports_parallel_tool_calls": True,
        "experimental_supported_tools": [],
        "input_modalities": ["text", "image"] if model.images else ["text"],
        **context,
    }
