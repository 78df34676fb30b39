"""Errors as a client gets them: a status, and JSON of a fixed shape.

    {"error": {"code": "turn_running", "message": "a turn of this chat runs; wait, or stop it"}}

The code is for programs and stays, the message is for people. An unforeseen error is
`internal`, and its message gives no details.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Scope

from callblocks.approvals.approval import ApprovalsUnavailable, BadApproval, HiddenCall
from callblocks.core.errors import (
    CallblocksError,
    CallerError,
    TimelineError,
    TurnRunning,
    UnknownTool,
)

__all__ = (
    "FAULTS",
    "HANDLED",
    "NOT_KEPT",
    "ApiFault",
    "ErrorBody",
    "ErrorWords",
    "answer_json",
    "encode_json",
    "fault_response",
)

FAULTS = {
    "bad_name": (400, "the id of a chat, or the name of a timeline, is none"),
    "bad_json": (400, "the body is no JSON"),
    "bad_header": (400, "a header cannot be read"),
    "unauthorized": (401, "the token is missing or wrong"),
    "foreign_host": (403, "the request was sent to another name than this machine's"),
    "foreign_origin": (403, "a page of another site sent the request"),
    "not_found": (404, "nothing is at this address"),
    "unknown_timeline": (404, "no timeline, and no chat, has that name"),
    "unknown_tool": (404, "no tool has that name"),
    "unknown_turn": (404, "no turn that is due later has that number"),
    "unknown_approval": (404, "no approval has that id"),
    "artifact_missing": (404, "no artifact has that digest"),
    "method_not_allowed": (405, "the address takes another method"),
    "read_timeout": (408, "the body of the request did not arrive"),
    "turn_running": (409, "a turn of the chat runs"),
    "no_schedule": (409, "turns that are due later need a cluster: callblocks serve --role"),
    "nothing_to_resume": (409, "no turn of the chat was interrupted"),
    "approval_answered": (409, "the question has its answer, or none is waited for"),
    "approval_hidden": (
        409,
        "a part of the call is hidden; where all of it is shown it can be approved",
    ),
    "conflict": (409, "another writer was first"),
    "body_too_large": (413, "the body passes the limit"),
    "wrong_content_type": (415, "the body is not sent as application/json"),
    "bad_range": (416, "the range is outside of the file"),
    "invalid_request": (422, "a field of the request is missing, or not as it should be"),
    "too_much_work": (422, "reading the text takes too long, or too much room"),
    "too_many_requests": (429, "the client asks too often"),
    "internal": (500, "a fault of the server"),
    "artifact_damaged": (500, "the file is not what its digest says"),
    "too_busy": (503, "as much work waits as may"),
    "too_many_streams": (503, "as many streams are open as may be"),
    "too_many_turns": (503, "as many turns run as may"),
    "shutting_down": (503, "the server ends"),
    "store_unavailable": (503, "the timelines, or the approvals, cannot be read or written"),
}
"""Every code of an error, its status, and what it means."""

_KINDS: dict[type[Exception], str] = {
    TurnRunning: "turn_running",
    UnknownTool: "unknown_tool",
    HiddenCall: "approval_hidden",
    BadApproval: "approval_answered",
    CallerError: "invalid_request",
    ApprovalsUnavailable: "store_unavailable",
    ClientDisconnect: "read_timeout",
}
_TOLD = ("bad_name", "unknown_timeline", "conflict")
_STATUS_CODES = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}


class ErrorWords(msgspec.Struct, frozen=True):
    """A code for programs, and words for people."""

    code: str
    message: str


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every error."""

    error: ErrorWords


class ApiFault(Exception):
    """Ends a request with an error; the status goes with the code."""

    def __init__(
        self, code: str, message: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        status, meaning = FAULTS[code]
        super().__init__(message or meaning)
        self.code = code
        self.status = status
        self.message = message or meaning
        self.headers = dict(headers or {})

    def refusal(self, scope: Scope) -> Response:
        """The error for a request whose body nobody reads: the connection ends with it."""
        headers = Headers(scope=scope)
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            self.headers["connection"] = "close"
        return self.response()

    def response(self) -> Response:
        """The error as it is sent."""
        body = ErrorBody(ErrorWords(self.code, self.message))
        return answer_json(body, self.status, self.headers)


NOT_KEPT = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
"""The headers of what no cache keeps."""


def answer_json(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A value as JSON; it is never kept by a cache."""
    known = {**NOT_KEPT, **(headers or {})}
    return Response(encode_json(value), status, known, "application/json")


def encode_json(value: object) -> bytes:
    """One line of JSON, whatever characters it has."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # Half a character, as the id of a call may be, can only be written as an escape.
        return json.dumps(msgspec.to_builtins(value)).encode()


async def fault_response(request: Request, error: Exception) -> Response:
    """The response to an exception of a handler."""
    return _fault_of(error).response()


def _fault_of(error: Exception) -> ApiFault:
    match error:
        case ApiFault():
            fault = error
        case HTTPException():
            fault = _http_fault(error)
        case TimelineError():
            code = error.code if error.code in FAULTS else "store_unavailable"
            # The other messages name places on this machine.
            fault = ApiFault(code, error.message if code in _TOLD else "")
        case _:
            fault = _mistake(error)
    return fault


def _mistake(error: Exception) -> ApiFault:
    """The code of the first kind that an error is of; the words of a caller's mistake are told."""
    for kind, code in _KINDS.items():
        if isinstance(error, kind):
            return ApiFault(code, str(error) if isinstance(error, CallerError) else "")
    return ApiFault("internal")


def _http_fault(error: HTTPException) -> ApiFault:
    code = _STATUS_CODES.get(error.status_code)
    if code is None:
        return ApiFault("internal")
    return ApiFault(code, "" if code != "method_not_allowed" else error.detail, error.headers)


HANDLED: dict[type[Exception], Any] = dict.fromkeys(
    (ApiFault, HTTPException, CallblocksError, ClientDisconnect, Exception), fault_response
)
"""What a Starlette application takes as its handlers."""
