"""Blocks of earlier versions may say deep inside who managed a fault: no view shows it.

Two things give blocks as they were written, with their hashes: the raw view and an export.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest

from callblocks.cli.chat.chat_turn import event_line
from callblocks.core.blocks import Block, Entry, Type, text_of
from callblocks.core.events import CallEnded
from callblocks.core.outcomes import Failure, Outcome
from callblocks.timeline.codec.call_blocks import Stamp
from callblocks.views.chat.timeline_chat import shown
from callblocks.views.html.timeline_page import timeline_html
from callblocks.views.markdown import timeline_markdown
from callblocks.views.model_view.view import render
from callblocks.views.replay import replayed
from callblocks.views.terminal.terminal import chat_rows
from callblocks.views.ui.ai_sdk.ui_messages import ui_messages

STAMP = Stamp("turn_1", "c1", "ask", "2030-01-31T12:00:00Z")
INNER = {"causes": [{"code": "far", "message": "no", "managed": True}], "managed": False}
ERROR = {"code": "near", "message": "it broke", "managed": True, "details": INNER}


def json_block(type: Type, said: object) -> Block:
    return STAMP.block(type, mime="application/json", text=json.dumps(said))


def entries() -> list[Entry]:
    call = {"tool_id": "ask", "tool_call_id": "c1", "params": {"of": "sea"}}
    digest = {"artifact_path": STAMP.path("result"), "error": ERROR}
    blocks = [
        STAMP.block("user.prompt", text="Go.", path="ar:turn_1.user.prompt"),
        STAMP.block(
            "react.tool.call",
            mime="application/json",
            text=json.dumps(call),
            path="tc:turn_1.c1.call",
        ),
        json_block("react.notice", {"code": "tool_result_error", "error": ERROR}),
        json_block("react.notice", {"code": "odd", "details": INNER, "managed": True}),
        STAMP.result("digest", json.dumps(digest)),
        json_block("react.notice", {"code": "odd", "message": "late", "of": [INNER]}),
    ]
    return [Entry(at, block) for at, block in enumerate(blocks, 1)]


VIEWS: dict[str, Callable[[list[Entry]], str]] = {
    "model": lambda talk: text_of(render(talk)),
    "terminal": lambda talk: str(list(chat_rows(shown(talk), 80, expanded=True))),
    "chat JSON": lambda talk: str(msgspec.to_builtins(list(shown(talk)))),
    "html": lambda talk: "".join(timeline_html("talk", shown(talk), len(talk))),
    "markdown": lambda talk: "".join(timeline_markdown("talk", shown(talk))),
    "ui messages": lambda talk: str(list(ui_messages(talk))),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("ended", [False, True], ids=["runs", "ended"])
def test_who_managed_a_fault_is_in_no_view(view: str, ended: bool) -> None:
    talk = entries()[:4] if not ended else entries()
    text = VIEWS[view](talk)
    assert "ask" in text
    assert "managed" not in text


def test_an_outcome_that_is_read_back_says_nothing_of_it_in_its_details() -> None:
    (event,) = [one for one in replayed(entries()) if isinstance(one, CallEnded)]
    outcome, plain = event.outcome, {"causes": [{"code": "far", "message": "no"}]}
    assert outcome.error is not None
    assert outcome.error.details == plain
    assert [notice.details for notice in outcome.notices] == [{"details": plain}, {"of": [plain]}]


def test_a_line_of_json_says_nothing_of_it() -> None:
    failure = Failure(code="near", message="no", details=INNER, managed=True)
    line = event_line(CallEnded(outcome=Outcome(id="c1", name="ask", error=failure)))
    assert json.loads(line)["outcome"]["error"] == {
        "code": "near",
        "message": "no",
        "where": "",
        "details": {"causes": [{"code": "far", "message": "no"}]},
    }
