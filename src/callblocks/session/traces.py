"""Traces of OpenTelemetry, from a request to the calls of its turn, over all processes.

    POST /api/chat             at a replica, or at a server alone
      callblocks.queue         the wait for a worker, in a cluster
      callblocks.turn          at the worker
        chat                   each reply of a model, from its request to its last piece
        callblocks.approval    each wait for a person
        execute_tool NAME      each call that ran

They are made of the events of a turn, so nothing that runs a turn knows of them. Off unless
`start_traces` finds an endpoint in the environment: then nothing of OpenTelemetry is imported, and
an event costs a comparison with None.

No span holds what anybody said, an input, an output, a message of an error, a header or a query.
Names of chats, tools and models, codes, numbers and times are all there is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from callblocks.core.events import (
    CallAnswered,
    CallAsked,
    CallBegan,
    CallEnded,
    CallReady,
    ModelWrote,
    RoundBegan,
    TurnBegan,
    TurnEnded,
    TurnEvent,
)
from callblocks.core.extras import needing

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer, TracerProvider

__all__ = ("TurnTrace", "begin_turn", "parent", "request_span", "start_traces", "use_provider")

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class _Tracing:
    tracer: Tracer | None = None


_state = _Tracing()


def start_traces(environment: Mapping[str, str] = os.environ) -> Callable[[], None]:
    """Send traces where the variables of OpenTelemetry say; return what ends that.

    Without an endpoint nothing happens. The variables are those of OpenTelemetry's own SDK.
    """
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if is_off or not any(environment.get(name) for name in _ENDPOINTS):
        return lambda: None
    with needing("otel", "an endpoint for traces is set, and"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider as Provider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    # What the environment says of the service comes after it, and is taken instead.
    provider = Provider(resource=Resource.create({"service.name": "callblocks"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    use_provider(provider)

    def end() -> None:
        use_provider(None)
        provider.shutdown()

    return end


def use_provider(provider: TracerProvider | None) -> None:
    """Make spans with a provider, for programs that have one; None for no spans.

    The provider of the whole process is not looked at: it may send elsewhere what others trace.
    """
    _state.tracer = None if provider is None else provider.get_tracer("callblocks")


def parent() -> str:
    """Return the present span as a process elsewhere takes it, as `traceparent`; "" without one."""
    if _state.tracer is None:
        return ""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent", "")


@contextmanager
def request_span(scope: Mapping[str, Any]) -> Generator[Callable[[str, int], None] | None]:
    """Make a span of a request of ASGI; yield what notes its route and its status.

    The client's own trace goes on, if the request names it.
    """
    tracer = _state.tracer
    if tracer is None:
        yield None
        return
    method = scope["method"]
    headers = dict(scope["headers"])
    traceparent = headers.get(b"traceparent", b"").decode("latin-1")
    from opentelemetry.trace import SpanKind, Status, StatusCode

    attributes = {"http.request.method": method}
    with tracer.start_as_current_span(
        method,
        _context(traceparent),
        SpanKind.SERVER,
        attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:

        def note(route: str, status: int) -> None:
            span.update_name(f"{method} {route}")
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", status)
            if status >= 500:
                span.set_status(Status(StatusCode.ERROR))

        yield note


def begin_turn(
    chat: str, traceparent: str = "", *, waited: float | None = None, deaths: int = 0
) -> TurnTrace | None:
    """Return the trace of a turn that begins; None where nothing is traced.

    Without `traceparent` it belongs to the present span. `waited` are the seconds in the queue of a
    cluster, by the clock of the database.
    """
    tracer = _state.tracer
    return None if tracer is None else TurnTrace(tracer, chat, traceparent, waited, deaths)


class TurnTrace:
    """The spans of one turn, or of one attempt to run it; `tell` gets all of its events."""

    def __init__(
        self, tracer: Tracer, chat: str, traceparent: str, waited: float | None, deaths: int
    ) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        self._tracer = tracer
        context = _context(traceparent)
        now = time.time_ns()
        is_here = waited is None
        if waited is not None:
            began = now - int(waited * 1e9)
            queue = tracer.start_span("callblocks.queue", context, start_time=began)
            queue.end(now)
        self._turn: Span | None = tracer.start_span(
            "callblocks.turn",
            context,
            SpanKind.INTERNAL if is_here else SpanKind.CONSUMER,
            {"callblocks.chat": chat, "callblocks.deaths": deaths},
        )
        self._context = set_span_in_context(self._turn)
        self._replies: dict[str, tuple[Span, int]] = {}
        self._calls: dict[str, Span] = {}
        self._asked: dict[str, Span] = {}
        self._names: dict[str, str] = {}

    def tell(self, event: TurnEvent) -> None:
        """Take what happens."""
        if self._turn is None:
            return
        match event:
            case ModelWrote():
                self._wrote(event)
            case TurnBegan(member="", turn=turn):
                self._turn.set_attribute("callblocks.turn", turn)
            case RoundBegan():
                self._end_reply(event.member)
                attributes = {"gen_ai.operation.name": "chat", "callblocks.round": event.number}
                self._replies[event.member] = self._span("chat", attributes), 0
            case CallAsked():
                self._asked[event.approval] = self._span("callblocks.approval", {})
            case CallAnswered():
                if (span := self._asked.pop(event.approval, None)) is not None:
                    span.set_attribute("callblocks.approved", event.approved)
                    span.end()
            case CallBegan():
                name = self._names.get(event.id, "")
                attributes = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": name,
                    "gen_ai.tool.call.id": event.id,
                }
                self._calls[event.id] = self._span(f"execute_tool {name}", attributes)
            case CallEnded():
                self._ended_call(event)
            case TurnEnded(member=""):
                self._ended(event)
            case TurnEnded():
                self._end_reply(event.member)
            case _:
                pass

    def close(self) -> None:
        """End what is open: the turn goes on elsewhere, or later."""
        if self._turn is not None:
            self._turn.set_attribute("callblocks.status", "interrupted")
            self._end_all()

    def _span(self, name: str, attributes: dict[str, Any]) -> Span:
        return self._tracer.start_span(name, self._context, attributes=attributes)

    def _wrote(self, event: ModelWrote) -> None:
        if isinstance(event.event, CallReady):
            self._names[event.event.call.id] = event.event.call.name
        if (found := self._replies.get(event.member)) is None:
            return
        span, last = found
        if not last:
            span.add_event("first piece")
        self._replies[event.member] = span, time.time_ns()

    def _end_reply(self, member: str) -> None:
        if (found := self._replies.pop(member, None)) is not None:
            span, last = found
            # It ended with its last piece; calls may have run since.
            span.end(last or None)

    def _ended_call(self, event: CallEnded) -> None:
        from opentelemetry.trace import Status, StatusCode

        outcome = event.outcome
        code = outcome.error.code if outcome.error else ""
        span = self._calls.pop(outcome.id, None)
        if span is None and self._turn is not None and not event.written:
            attributes = {"gen_ai.tool.name": outcome.name, "error.type": code}
            self._turn.add_event("call did not run", attributes)
        if span is not None:
            if code:
                span.set_attribute("error.type", code)
                span.set_status(Status(StatusCode.ERROR))
            span.end()

    def _ended(self, event: TurnEnded) -> None:
        from opentelemetry.trace import Status, StatusCode

        assert self._turn is not None, "nothing is told after the end"
        self._turn.set_attributes(
            {
                "callblocks.status": event.status,
                "gen_ai.usage.input_tokens": event.tokens_in,
                "gen_ai.usage.output_tokens": event.tokens_out,
            }
        )
        if event.code:
            self._turn.set_attribute("error.type", event.code)
        if event.status == "failed":
            self._turn.set_status(Status(StatusCode.ERROR))
        self._end_all()

    def _end_all(self) -> None:
        for member in list(self._replies):
            self._end_reply(member)
        turn, self._turn = self._turn, None
        for span in (*self._calls.values(), *self._asked.values(), turn):
            if span is not None:
                span.end()


def _context(traceparent: str) -> Context | None:
    """Return the context of a span elsewhere; None for the present one."""
    if not traceparent:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})
