"""Notices: facts about a call for the model beside its results.

    {"code":"protocol_violation.path_rewritten","message":"…","original":"…","normalized":"…"}
    {"code":"tool_result_error","message":"…","error":{"code":"…","message":"…","where":"…"}}

A failure gives one of two notices:

    tool_call_error     the call did not run, or its run broke: the codes of `CALL_ERRORS`
    tool_result_error   the tool answered, and its answer is an error or holds no good file:
                        every other code, so also those that tools make up

Errors of code stand in its report, and give neither. Of one call `MOST` notices are written, those
of failures before others, and then the number of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from callblocks.model.blocks import Block
from callblocks.model.outcomes import Failure, Notice, without_managed
from callblocks.model.secret_values import without_secrets
from callblocks.timeline.emitting.fitting import shown
from callblocks.timeline.plain_json import json_text, plain, whole
from callblocks.timeline.stamp import JSON, Stamp

__all__ = (
    "CALL_ERRORS",
    "ERROR_NOTICES",
    "MOST",
    "NOT_RUN",
    "error_notice",
    "error_payload",
    "notice_blocks",
    "notice_of_failure",
)

# The codes of failures which mean that a call did not run.
NOT_RUN = frozenset(
    (
        "unknown_tool",
        "not_runnable",
        "invalid_input",
        "unended_call",
        "policy_off",
        "policy_denied",
        "approval_required",
        "approval_denied",
        "approval_expired",
        "approval_revoked",
        "approval_mismatch",
        "not_kept",
        "sandbox_unavailable",
        "sandbox_failed",
    )
)

# The codes of failures which mean that a call did not run, or that its run broke.
CALL_ERRORS = NOT_RUN | {"tool_error", "tool_died", "timeout", "cancelled", "indeterminate"}

ERROR_NOTICES = ("tool_call_error", "tool_result_error")

# The most notices of one call.
MOST = 50

_CODE = 100
_MESSAGE = 4_000
_DETAILS = 100_000


def error_notice(code: str) -> Literal["tool_call_error", "tool_result_error"]:
    """Return the notice for a failure with this code."""
    return "tool_call_error" if code in CALL_ERRORS else "tool_result_error"


def notice_of_failure(stamp: Stamp, failure: Failure) -> Notice:
    """Return the notice of a failure."""
    payload = error_payload(stamp, failure)
    return Notice(
        code=error_notice(failure.code), message=payload["message"], details={"error": payload}
    )


def error_payload(stamp: Stamp, failure: Failure) -> dict[str, Any]:
    """Return `{code, message, where, details?}` without secrets, short enough for a model.

    A failure without a place occurred in the tool.
    """
    payload: dict[str, Any] = {
        "code": _said(failure.code, _CODE),
        "message": _said(failure.message),
        "where": _said(failure.where or stamp.tool or stamp.path("call")),
    }
    if failure.details:
        payload["details"] = _details(failure.details)
    return payload


def notice_blocks(stamp: Stamp, notices: Iterable[Notice]) -> list[Block]:
    """Return a block for each distinct notice."""
    texts = _few({_text(notice): notice.code for notice in notices})
    return [
        stamp.block(
            "react.notice", path=stamp.path("notice"), mime=JSON, text=text, author="timeline"
        )
        for text in texts
    ]


def _few(texts: dict[str, str]) -> list[str]:
    """Return at most so many texts in their order, by their codes."""
    if len(texts) <= MOST:
        return list(texts)
    # A stable sort: failures first, otherwise the order in which they came.
    first = sorted(texts, key=lambda text: texts[text] not in ERROR_NOTICES)[:MOST]
    told, more = set(first), len(texts) - MOST
    rest = Notice(code="more_notices", message=f"{more} more notices of this call are not told")
    return [*(text for text in texts if text in told), _text(rest)]


def _text(notice: Notice) -> str:
    said = {"code": _said(notice.code, _CODE), "message": _said(notice.message)}
    details = _details(notice.details)
    # A detail may have the name of a field that exists already.
    beside = {"details": details} if said.keys() & details.keys() else details
    return json_text({**said, **beside})


def _said(text: str, size: int = _MESSAGE) -> str:
    return shown(whole(text), size)


def _details(details: dict[str, Any]) -> dict[str, Any]:
    given = without_managed(plain(details))
    if len(json_text(given)) > _DETAILS:
        return {"left_out": "details that are too large to show"}
    return without_secrets(given)
