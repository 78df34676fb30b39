"""Questions to a person, and answering them.

    GET  /api/approvals?state=pending
    POST /api/approvals/a1b2   {"verdict": "once"}
                               {"verdict": "while", "minutes": 10}
                               {"verdict": "deny", "reason": "not today"}
                               {"verdict": "revoke"}

A question has one answer: a second one is a 409, and changes nothing. So is a yes to a call that is
not `is_whole`: a part of it that could do something is covered as a secret (`approval_hidden`). A
grant, and a yes that nothing ran on yet, can be taken back.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from callblocks.approvals.approval import Approval, State
from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Verdict
from callblocks.server.http.faults import ApiFault, answer_json
from callblocks.server.http.request import read_body, read_query
from callblocks.server.service import service_of
from callblocks.views.rows import exact

__all__ = (
    "AnswerBody",
    "ApprovalList",
    "ApprovalQuery",
    "ShownApproval",
    "answer_approval",
    "answer_book",
    "list_approvals",
)


class ShownApproval(msgspec.Struct, frozen=True, kw_only=True):
    """A question and what came of it; times are seconds since 1970, 0 for none yet.

    `shown` names all that cannot be seen. `chat` is the one whose turn runs here and asked; ""
    where there is none.
    """

    id: str
    state: State
    tool: str
    shown: str
    asked_at: float
    answered_at: float
    expires_at: float
    reason: str
    minutes: int
    tainted: bool
    is_whole: bool
    chat: str = ""


class ApprovalList(msgspec.Struct, frozen=True):
    """Approvals, oldest first."""

    approvals: list[ShownApproval]


class ApprovalQuery(msgspec.Struct, frozen=True):
    """Those in one state, or all."""

    state: State | None = None


class AnswerBody(msgspec.Struct, frozen=True):
    """An answer: approve the call once, approve every call of the tool for some minutes, deny it
    with a reason for the model, or revoke an earlier answer."""

    verdict: Verdict | Literal["revoke"]
    minutes: Literal[5, 10, 30] | None = None
    reason: Annotated[str, msgspec.Meta(max_length=2000)] = ""


async def list_approvals(request: Request) -> Response:
    """List approvals with their states, oldest first."""
    service, state = service_of(request), read_query(request, ApprovalQuery).state
    known = await service.read(lambda: service.host.book.list(state))
    chats = await service.chats.asking([one.id for one in known])
    return answer_json(ApprovalList([_shown(one, chats.get(one.id, "")) for one in known]))


async def answer_approval(request: Request) -> Response:
    """Answer a question; whoever waits for it goes on at once."""
    service, id = service_of(request), request.path_params["id"]
    answer = await read_body(request, AnswerBody, service.settings)
    approval = await service.read(lambda: answer_book(service.host.book, id, answer))
    service.chats.wake(id)
    chats = await service.chats.asking([id])
    return answer_json(_shown(approval, chats.get(id, "")))


def answer_book(book: ApprovalBook, id: str, answer: AnswerBody) -> Approval:
    """Write an answer down; `unknown_approval`, or `approval_answered` where it comes too late."""
    known = book.get(id)
    if known is None:
        raise ApiFault("unknown_approval", "no approval has that id; list them to see the ids")
    if answer.verdict == "revoke":
        return book.revoke(id)
    if known.state != "pending":
        words = f"the approval {id} is {known.state}: it cannot be answered any more"
        raise ApiFault("approval_answered", words)
    match answer.verdict:
        case "once":
            return book.approve(id)
        case "while" if answer.minutes is not None:
            return book.approve_for(id, answer.minutes)
        case "while":
            raise ApiFault("invalid_request", "say for how many minutes: 5, 10 or 30")
        case "deny":
            return book.deny(id, answer.reason)


def _shown(approval: Approval, chat: str) -> ShownApproval:
    """Without what ties it to its call: that is nobody's business."""
    shown = msgspec.convert(approval, ShownApproval, from_attributes=True)
    words = exact(approval.shown)
    return replace(shown, shown=words, chat=chat)
