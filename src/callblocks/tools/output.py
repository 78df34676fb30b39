"""Failures and notices of tools made safe to pass on: without secrets, and of bounded length."""

from __future__ import annotations

from typing import Any

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.json_values import to_json_value
from callblocks.core.outcomes import Failure, Notice, without_managed
from callblocks.core.redaction import redact, without_secrets
from callblocks.tools.tool import Tool

__all__ = (
    "safe_failure",
    "safe_notice",
    "safe_text",
    "told",
    "words_of",
)

_MESSAGE_LENGTH = 4_000


def told(tool: Tool, error: ToolError) -> Failure:
    """Return the failure that a tool raised."""
    return safe_failure(
        Failure(code=error.code, message=error.message, where=tool.name, details=error.details)
    )


def safe_failure(failure: Failure) -> Failure:
    """Return a failure without secrets, short enough for a model to read."""
    message = redact(safe_text(failure.message))
    if len(message) > _MESSAGE_LENGTH:
        message = f"{message[:_MESSAGE_LENGTH]}…"
    return msgspec.structs.replace(
        failure, code=safe_text(failure.code), message=message, details=_details(failure.details)
    )


def safe_notice(notice: Notice) -> Notice:
    """Return a notice without secrets."""
    return Notice(
        code=safe_text(notice.code),
        message=redact(safe_text(notice.message)),
        details=_details(notice.details),
    )


def safe_text(said: object) -> str:
    """Return a tool's value as text where text is expected; a tool may have passed any object."""
    return to_json_value(said if isinstance(said, str) else words_of(said))


def words_of(said: object) -> str:
    """Return `str(value)`; "" where that raises."""
    try:
        return str(said)
    except BaseException:  # a value of a tool may do anything when it is shown
        return ""


def _details(given: dict[str, Any]) -> dict[str, Any]:
    try:
        return without_secrets(without_managed(to_json_value(given)))
    except BaseException as error:  # a value of a tool may do anything when it is written
        return {"left_out": f"details that cannot be written: {safe_text(error)}"}
