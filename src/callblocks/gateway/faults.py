"""Faults of a model's server, as faults of the gateway."""

from __future__ import annotations

from callblocks.core.errors import ModelError
from callblocks.gateway.exchange import FaultKind, GatewayFault

__all__ = ("fault_of",)

_KINDS: dict[str, FaultKind] = {
    "model_unreachable": "upstream",
    "model_timeout": "timeout",
    "model_refused": "upstream",
    "model_no_tools": "upstream",
    "model_busy": "overloaded",
    "model_failed": "upstream",
    "model_broken": "upstream",
    "model_context_full": "invalid_request",
    "model_too_long": "upstream",
    "model_missing": "internal",
}
# Statuses of a model's server that are the client's to mend, and not the gateway's.
_OF_CLIENT: dict[int, FaultKind] = {
    400: "invalid_request",
    404: "not_found",
    413: "too_large",
    422: "invalid_request",
    429: "rate_limit",
}


def fault_of(error: ModelError) -> GatewayFault:
    """Return the fault for an error of a model.

    A key that the model's server refuses is the gateway's own (502): the client's key is another.
    """
    kind = _KINDS.get(error.code, "upstream")
    status = error.details.get("status")
    if isinstance(status, int) and error.code != "model_context_full":
        kind = _OF_CLIENT.get(status, kind)
    code = "context_length_exceeded" if error.code == "model_context_full" else error.code
    wait = error.details.get("retry_after")
    after = float(wait) if isinstance(wait, int | float) else None
    return GatewayFault(
        kind, error.message, code=code, retry_after=after, public=_public(error, kind)
    )


# The message of an error names the address of the server, variables with keys, and other models.
_PUBLIC: dict[str, str] = {
    "model_unreachable": "cannot be reached",
    "model_timeout": "takes too long",
    "model_busy": "is too busy; try again later",
    "model_context_full": "has no room for the request in its context; send less",
    "model_broken": "sent what is no reply",
    "model_too_long": "sent more than fits",
}


def _public(error: ModelError, kind: FaultKind) -> str:
    """Return what happened without anything about the server but its words to this client."""
    said = f"the model {_PUBLIC.get(error.code, 'failed')}"
    if kind == "invalid_request" and (words := error.details.get("words")):
        said = f"the model refused the request: {words}"
    return said
