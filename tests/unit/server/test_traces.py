"""Spans of OpenTelemetry: one tree from a request to its calls, without what anybody said."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callblocks.cluster.turns import TurnRequest
from callblocks.core.calls import Call
from callblocks.core.errors import CallerError
from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    CallBegan,
    CallEnded,
    CallReady,
    ModelWrote,
    RoundBegan,
    Text,
    TurnBegan,
    TurnEnded,
)
from callblocks.core.outcomes import Failure, Outcome
from callblocks.session.traces import begin_turn, parent, request_span, start_traces, use_provider
from support.chat_server import running_server

SECRET = "sk-live-0123456789"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    use_provider(provider)
    yield exporter
    use_provider(None)


def tree(spans: InMemorySpanExporter) -> dict[str, str]:
    """Each span's name, and that of its parent."""
    finished = spans.get_finished_spans()
    names = {one.context.span_id: one.name for one in finished if one.context}
    return {one.name: names.get(one.parent.span_id, "") if one.parent else "" for one in finished}


def named(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    return next(one for one in spans.get_finished_spans() if one.name == name)


def test_a_request_a_turn_and_its_reply_are_one_tree(
    spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    with running_server(tmp_path) as running:
        running.say(f"my key is {SECRET}", headers={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"})
    assert tree(spans) == {
        "chat": "callblocks.turn",
        "callblocks.turn": "POST /api/chat",
        "POST /api/chat": "",
    }
    request = named(spans, "POST /api/chat")
    assert request.context is not None
    assert request.context.trace_id == int("a" * 32, 16)
    assert dict(request.attributes or {})["http.response.status_code"] == 200
    turn = dict(named(spans, "callblocks.turn").attributes or {})
    assert (turn["callblocks.turn"], turn["callblocks.status"]) == ("turn_1", "answered")
    assert SECRET not in " ".join(one.to_json() for one in spans.get_finished_spans())


def test_a_turn_that_waited_elsewhere_belongs_to_its_request(spans: InMemorySpanExporter) -> None:
    scope = {"method": "POST", "headers": []}
    with request_span(scope) as told:
        request = TurnRequest.of("Go.", ())
        assert told is not None
        told("/api/chat", 503)
    trace = begin_turn("trip", request.trace, waited=2.0, deaths=1)
    assert trace is not None
    call = Call(id="c1", name="note", input={"text": SECRET}, dialect="", span=(0, 0))
    failed = Outcome(id="c1", name="note", error=Failure(code="tool_failed", message=SECRET))
    refused = Outcome(id="c2", name="rm", error=Failure(code="denied", message=SECRET))
    for event in (
        TurnBegan(turn="turn_1"),
        RoundBegan(number=1),
        ModelWrote(event=Text(SECRET, (0, 5)), round=1),
        ModelWrote(event=CallReady(0, call, (5, 9)), round=1),
        CallAsked(id="c1", approval="a1", reason=SECRET),
        CallAnswered(id="c1", approval="a1", approved=True, reason=SECRET),
        CallBegan(id="c1"),
        CallEnded(outcome=failed),
        CallEnded(outcome=refused),
        RoundBegan(number=2),
        TurnEnded(turn="turn_1", status="failed", code="model_failed", message=SECRET),
        TurnEnded(turn="turn_1", status="failed"),
    ):
        trace.tell(event)
    trace.close()
    queue, turn = named(spans, "callblocks.queue"), named(spans, "callblocks.turn")
    assert queue.start_time is not None
    assert queue.end_time is not None
    assert queue.end_time - queue.start_time == 2_000_000_000
    assert turn.parent == queue.parent
    assert turn.parent is not None
    assert [event.name for event in turn.events] == ["call did not run"]
    tool = dict(named(spans, "execute_tool note").attributes or {})
    assert (tool["gen_ai.tool.call.id"], tool["error.type"]) == ("c1", "tool_failed")
    assert tree(spans)["callblocks.approval"] == "callblocks.turn"
    assert SECRET not in " ".join(one.to_json() for one in spans.get_finished_spans())


def test_a_turn_that_goes_on_elsewhere_leaves_no_span_open(spans: InMemorySpanExporter) -> None:
    trace = begin_turn("trip", waited=0.0)
    assert trace is not None
    trace.tell(RoundBegan(number=1))
    trace.tell(CallBegan(id="c1"))
    trace.close()
    trace.tell(CallBegan(id="c2"))
    assert len(spans.get_finished_spans()) == 4
    turn = dict(named(spans, "callblocks.turn").attributes or {})
    assert turn["callblocks.status"] == "interrupted"


def test_without_an_endpoint_nothing_is_traced_or_imported() -> None:
    code = (
        "import sys; from callblocks.session import traces; traces.start_traces({})();"
        "traces.start_traces({'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://127.0.0.1:1',"
        " 'OTEL_SDK_DISABLED': 'true'})();"
        "assert traces.begin_turn('trip') is None; assert traces.parent() == '';"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0


def test_an_endpoint_gets_traces_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody listens there, and nothing was traced that would have to be sent.
    end = start_traces({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    assert begin_turn("trip") is not None
    end()
    assert begin_turn("trip") is None
    assert parent() == ""
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(CallerError, match=r"callblocks\[otel\]"):
        start_traces({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
