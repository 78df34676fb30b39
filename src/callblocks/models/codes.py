"""Codes of a `ModelError`, with their meaning."""

from __future__ import annotations

__all__ = ("MODEL_CODES",)

MODEL_CODES = {
    "model_unreachable": "no connection to the model's server, or it broke",
    "model_timeout": "the model's server said nothing for too long",
    "model_refused": "the model's server refused the request: a wrong key, model or field",
    "model_no_tools": "the model's server takes no tools; in `auto` the prompt teaches them",
    "model_busy": "the model's server has too much to do; try again",
    "model_failed": "the model's server failed",
    "model_broken": "the model's server sent what is no reply: half an event, or no JSON",
    "model_context_full": "prompt and reply do not fit into the model's context; send less",
    "model_too_long": "a line or a reply passes the limit",
    "model_missing": "a package or a file that this model needs is not there",
}
