from __future__ import annotations

import asyncio

import msgspec
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from callblocks.approvals.approval import ApprovalsUnavailable, BadApproval
from callblocks.core.errors import CallerError, TimelineError, TurnRunning, UnknownTool
from callblocks.server.http.faults import FAULTS, ErrorBody, answer_json, fault_response


def _answered(error: Exception) -> tuple[int, ErrorBody]:
    response = asyncio.run(fault_response(Request({"type": "http"}), error))
    return response.status_code, msgspec.json.decode(response.body, type=ErrorBody)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (HTTPException(404), 404, "not_found"),
        (HTTPException(405), 405, "method_not_allowed"),
        (HTTPException(418), 500, "internal"),
        (TimelineError("bad_name", "x"), 400, "bad_name"),
        (TimelineError("unknown_timeline", "x"), 404, "unknown_timeline"),
        (TimelineError("store_full", "x"), 503, "store_unavailable"),
        (TimelineError("artifact_missing", "x"), 404, "artifact_missing"),
        (ApprovalsUnavailable("x"), 503, "store_unavailable"),
        (BadApproval("x"), 409, "approval_answered"),
        (TurnRunning("x"), 409, "turn_running"),
        (UnknownTool("x", ()), 404, "unknown_tool"),
        (CallerError("x"), 422, "invalid_request"),
        (ZeroDivisionError("secret"), 500, "internal"),
    ],
)
def test_every_error_has_a_status_and_a_code(error: Exception, status: int, code: str) -> None:
    answered = _answered(error)
    assert (answered[0], answered[1].error.code) == (status, code)
    assert FAULTS[code][0] == status


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("/home/me/secret"),
        TimelineError("store_unavailable", "postgresql://me:secret@host"),
        TimelineError("artifact_missing", "not in /home/me/secret"),
        ApprovalsUnavailable("/home/me/secret"),
    ],
)
def test_no_place_of_this_machine_is_told(error: Exception) -> None:
    assert "secret" not in _answered(error)[1].error.message


def test_half_a_character_can_be_answered() -> None:
    assert answer_json({"id": "\ud800"}).body == b'{"id": "\\ud800"}'
