"""Errors as OpenAI's APIs write them: chat, responses, completions and models share them."""

from __future__ import annotations

from typing import Any

from callblocks.gateway.exchange import FaultKind, GatewayFault

__all__ = ("openai_error", "openai_error_code")

# Type and code by kind; a fault's own code comes first.
_ERRORS: dict[FaultKind, tuple[str, str | None]] = {
    "invalid_request": ("invalid_request_error", None),
    "authentication": ("authentication_error", "invalid_api_key"),
    "permission": ("permission_error", None),
    "not_found": ("invalid_request_error", "model_not_found"),
    "too_large": ("invalid_request_error", "request_too_large"),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "internal": ("server_error", "internal_error"),
    "upstream": ("server_error", "upstream_error"),
    "overloaded": ("server_error", "server_is_overloaded"),
    "timeout": ("server_error", "timeout"),
}


def openai_error(fault: GatewayFault) -> dict[str, Any]:
    """Return the body of an error."""
    kind, _ = _ERRORS[fault.kind]
    code = openai_error_code(fault)
    error = {"message": fault.message, "type": kind, "param": fault.field or None, "code": code}
    return {"error": error}


def openai_error_code(fault: GatewayFault) -> str | None:
    """Return the code of an error; `None` where there is none but its type."""
    return fault.code or _ERRORS[fault.kind][1]
