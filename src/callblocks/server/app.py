"""The application: guarded, limited and measured routes around one host.

    app = make_app(ServerSettings(), lambda: Host(settings))

The host is opened when the application starts, in its event loop, and closed when it ends. The
table of all addresses stands below; the OpenAPI document is made of the same table.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.loops.auto import auto_loop_factory

from callblocks.guard.net.addresses import address_of, listen_at
from callblocks.server.access import HEALTH, LIVE, READY, Guard, SignedIn, sign_in
from callblocks.server.approval_routes import (
    AnswerBody,
    ApprovalList,
    ApprovalQuery,
    ShownApproval,
    answer_approval,
    list_approvals,
)
from callblocks.server.chats.chat_list import (
    ChatHits,
    ChatList,
    ChatsQuery,
    Deleted,
    FoundQuery,
    Nothing,
    Title,
    delete_chat,
    follow_chats,
    list_chats,
    rename_chat,
    search_chats,
)
from callblocks.server.chats.chat_routes import (
    KEY_HEADER,
    AgainBody,
    Cancelled,
    ChatBody,
    ChatQuery,
    Resumed,
    RunBody,
    ShownChat,
    Stopped,
    StreamQuery,
    cancel_call,
    make_again,
    post_chat,
    post_run,
    resume_chat,
    show_chat,
    stop_chat,
    stream_chat,
)
from callblocks.server.chats.chats import Chats
from callblocks.server.chats.schedule import (
    ScheduleBody,
    ScheduledTurn,
    ScheduleList,
    Unscheduled,
    cancel_scheduled,
    list_scheduled,
    post_scheduled,
)
from callblocks.server.chats.ui_events import VERSION_HEADER, VersionQuery
from callblocks.server.cpu_program import Converted
from callblocks.server.http.faults import HANDLED, answer_json
from callblocks.server.http.monitoring import Measured, Metrics
from callblocks.server.http.protocol import limited_http
from callblocks.server.http.rate_limits import RateLimit
from callblocks.server.info_routes import (
    ArtifactQuery,
    ConvertBody,
    DialectList,
    Health,
    Live,
    ModelList,
    ParseBody,
    Ready,
    ShownTool,
    ToolList,
    convert_text,
    list_dialects,
    list_models,
    list_tools,
    parse_text,
    send_artifact,
    show_health,
    show_live,
    show_metrics,
    show_ready,
    show_tool,
)
from callblocks.server.mcp_routes import McpList, SwitchBody, list_mcp, switch_mcp
from callblocks.server.openapi import Endpoint, openapi_document
from callblocks.server.pages import (
    send_file,
    show_inspector,
    show_page,
    show_playground,
    show_settings,
)
from callblocks.server.service import MakeChats, Service
from callblocks.server.settings import ServerSettings
from callblocks.server.settings_routes import (
    ModelTest,
    TestBody,
    ToolVerdicts,
    show_verdicts,
    test_model,
)
from callblocks.server.timeline_routes import (
    JSON_LINES,
    AfterQuery,
    PageQuery,
    SegmentPage,
    SegmentQuery,
    TimelineList,
    TimelinePage,
    Verified,
    follow_timeline,
    list_timelines,
    read_timeline,
    send_lines,
    show_segments,
    show_timeline,
    verify_timeline,
)
from callblocks.session.host import Host
from callblocks.session.traces import start_traces
from callblocks.views.text.parsed_text import ParsedText

__all__ = (
    "ENDPOINTS",
    "NO_TOKEN",
    "PROBES",
    "Document",
    "Server",
    "Start",
    "bind",
    "make_app",
    "serve",
)


def make_app(
    settings: ServerSettings,
    open_host: Callable[[], Host],
    make_chats: MakeChats = Chats,
    endpoints: Sequence[Endpoint] | None = None,
) -> Starlette:
    """The application; settings that must not be served with are a `CallerError`.

    `make_chats` says where turns run: in this process, unless it is a replica of a cluster.
    `endpoints` are the addresses that it answers, without it all of them.
    """
    settings.check()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        host = open_host()
        try:
            app.state.service = service = Service(settings, host, metrics, make_chats)
            try:
                yield
            finally:
                await service.end()
                for model in service.models:
                    await model.close()
        finally:
            host.close()

    app = Starlette(
        routes=[endpoint.route() for endpoint in endpoints or ENDPOINTS],
        middleware=[
            Middleware(Measured, metrics=metrics),
            # First who may ask at all: what a foreign page sends uses up nobody's requests.
            Middleware(Guard, settings=settings),
            Middleware(RateLimit, settings=settings),
        ],
        exception_handlers=HANDLED,
        lifespan=lifespan,
    )
    # A redirect would go to whatever host the client named.
    app.router.redirect_slashes = False
    return app


# --- Serving until stopped ---
#
#     serve(ServerSettings(), lambda: Host(settings))
#
# SIGINT and SIGTERM end the server. Streams and turns end first, within a grace period, so that
# every client is notified; a second Ctrl-C ends the server at once.

_LOG = logging.getLogger("callblocks.server")
NO_TOKEN = (
    "no token: every user and program of this machine can read the chats, start turns and approve"
    " their calls"
)
"""Said at the start of a server that lets everybody in."""

_LAST_SECONDS = 5

_LOOK_AFTER = 10_000, 5, 5
"""When the collector of garbage looks. By itself it looks after every 700 new objects, and takes
a fifth of a busy server's time."""
_SWITCH = 0.0005
"""Seconds after which a thread that computes lets the event loop have the interpreter; by itself
it is ten times as much."""


class Server(uvicorn.Server):
    """Ends streams and turns before it waits for connections to end; `told` when it answers."""

    def __init__(
        self, settings: ServerSettings, app: Starlette, told: Callable[[], None] = lambda: None
    ) -> None:
        config = uvicorn.Config(
            app,
            http=limited_http(settings),
            ws="none",
            lifespan="on",
            access_log=False,
            log_level="error",
            log_config=None,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_LAST_SECONDS,
        )
        super().__init__(config)
        self._app = app
        self._told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        # What is here now stays.
        gc.freeze()
        gc.set_threshold(*_LOOK_AFTER)
        sys.setswitchinterval(_SWITCH)
        self._told()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what runs, then all connections."""
        ending = asyncio.ensure_future(self._app.state.service.end())
        while not ending.done() and not self.force_exit:
            await asyncio.wait([ending], timeout=0.1)
        ending.cancel()
        await super().shutdown(sockets)


def bind(settings: ServerSettings) -> socket.socket:
    """Return the socket of a server, once its settings are checked."""
    settings.check()
    return listen_at(settings.host, settings.port)


def serve(
    settings: ServerSettings,
    open_host: Callable[[], Host],
    told: Callable[[str], None] = lambda address: None,
    make_chats: MakeChats = Chats,
    endpoints: Sequence[Endpoint] | None = None,
) -> None:
    """Serve until stopped; `told` gets the address once the server answers.

    What must not, or cannot, be served is a `CallblocksError` before that. `make_chats` and
    `endpoints` are those of `make_app`.
    """
    with (
        bind(settings) as bound,
        asyncio.Runner(loop_factory=auto_loop_factory()) as runner,
    ):
        # Only now it is known that the server may do without one.
        if not settings.token:
            _LOG.warning(NO_TOKEN)
        end_traces = start_traces()
        try:
            runner.run(_serve(settings, open_host, bound, told, make_chats, endpoints))
        finally:
            end_traces()


async def _serve(
    settings: ServerSettings,
    open_host: Callable[[], Host],
    bound: socket.socket,
    told: Callable[[str], None],
    make_chats: MakeChats,
    endpoints: Sequence[Endpoint] | None,
) -> None:
    # Opened here, not by the application: what is wrong with it is raised to the caller.
    host = open_host()
    app = make_app(settings, lambda: host, make_chats, endpoints)
    await Server(settings, app, lambda: told(address_of(bound))).serve([bound])


# --- The table of all addresses ---
#
# To add one: a handler in the file of its subject, and a line here.
#
# The OpenAPI document is made of the same table.


_STREAM = "text/event-stream"
_HTML = "text/html"
_BODY = ("bad_json", "body_too_large", "wrong_content_type", "read_timeout", "invalid_request")
_STORED = ("bad_name", "unknown_timeline", "store_unavailable")
_WORK = ("too_much_work", "too_busy")
_TURN = (
    "turn_running",
    "approval_answered",
    "approval_hidden",
    "too_many_streams",
    "shutting_down",
)


class Document(msgspec.Struct, frozen=True):
    """An OpenAPI document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]


class Start(msgspec.Struct, frozen=True):
    """The addresses of the OpenAPI document and of the state of health."""

    name: str = "callblocks"
    openapi: str = "/api/openapi.json"
    health: str = HEALTH


async def show_start(request: Request) -> Response:
    """Name the addresses of the OpenAPI document and of the state of health."""
    return answer_json(Start())


async def show_openapi(request: Request) -> Response:
    """This document."""
    return answer_json(_document())


@cache
def _document() -> dict[str, Any]:
    return openapi_document(ENDPOINTS)


PROBES = (
    Endpoint(method="GET", path=LIVE, handler=show_live, gives=Live),
    Endpoint(method="GET", path=READY, handler=show_ready, gives=Ready, also=(503,)),
    Endpoint(method="GET", path="/metrics", handler=show_metrics, gives="text/plain"),
)
"""What a worker answers, and nothing else."""

ENDPOINTS = (
    Endpoint(method="GET", path="/", handler=show_page, gives=_HTML, also=(304, 500)),
    Endpoint(
        method="GET", path="/playground", handler=show_playground, gives=_HTML, also=(304, 500)
    ),
    Endpoint(method="GET", path="/timeline", handler=show_inspector, gives=_HTML, also=(304, 500)),
    Endpoint(method="GET", path="/settings", handler=show_settings, gives=_HTML, also=(304, 500)),
    Endpoint(
        method="GET",
        path="/web/{path}",
        handler=send_file,
        gives="*/*",
        also=(304,),
        faults=("not_found",),
    ),
    Endpoint(method="GET", path="/api", handler=show_start, gives=Start),
    Endpoint(method="POST", path="/api/sign-in", handler=sign_in, gives=SignedIn),
    Endpoint(
        method="POST",
        path="/api/chat",
        handler=post_chat,
        query=VersionQuery,
        body=ChatBody,
        gives=_STREAM,
        faults=(*_BODY, *_STORED, *_TURN),
        headers=(VERSION_HEADER, KEY_HEADER),
    ),
    Endpoint(
        method="POST",
        path="/agui",
        handler=post_run,
        body=RunBody,
        gives=_STREAM,
        faults=(*_BODY, *_STORED, *_TURN),
    ),
    Endpoint(
        method="GET",
        path="/api/chats",
        handler=list_chats,
        query=ChatsQuery,
        gives=ChatList,
        faults=("store_unavailable", "invalid_request"),
    ),
    Endpoint(
        method="GET",
        path="/api/chats/stream",
        handler=follow_chats,
        gives=_STREAM,
        faults=("store_unavailable", "too_many_streams"),
    ),
    Endpoint(
        method="GET",
        path="/api/chats/search",
        handler=search_chats,
        query=FoundQuery,
        gives=ChatHits,
        faults=("store_unavailable", "invalid_request"),
    ),
    Endpoint(
        method="POST",
        path="/api/chat/{id}/calls/{call}/cancel",
        handler=cancel_call,
        body=Nothing,
        gives=Cancelled,
        faults=(*_BODY, *_STORED),
    ),
    Endpoint(
        method="POST",
        path="/api/chat/{id}/again",
        handler=make_again,
        query=VersionQuery,
        body=AgainBody,
        gives=_STREAM,
        faults=(*_BODY, *_STORED, *_TURN),
        headers=(VERSION_HEADER,),
    ),
    Endpoint(
        method="POST",
        path="/api/chat/{id}/rename",
        handler=rename_chat,
        body=Title,
        gives=Title,
        faults=(*_BODY, *_STORED),
    ),
    Endpoint(
        method="POST",
        path="/api/chat/{id}/delete",
        handler=delete_chat,
        body=Nothing,
        gives=Deleted,
        faults=(*_BODY, *_STORED),
    ),
    Endpoint(
        method="GET",
        path="/api/chat/{id}",
        handler=show_chat,
        query=ChatQuery,
        gives=ShownChat,
        faults=(*_STORED, "invalid_request"),
        headers=(VERSION_HEADER,),
    ),
    Endpoint(
        method="GET",
        path="/api/chat/{id}/stream",
        handler=stream_chat,
        query=StreamQuery,
        gives=_STREAM,
        also=(204,),
        faults=(*_STORED, "invalid_request", "too_many_streams"),
        headers=(VERSION_HEADER, "last-event-id"),
    ),
    Endpoint(
        method="POST",
        path="/api/chat/{id}/stop",
        handler=stop_chat,
        body=Nothing,
        gives=Stopped,
        faults=(*_BODY, *_STORED),
    ),
    Endpoint(
        method="POST",
        path="/api/chat/{id}/resume",
        handler=resume_chat,
        body=Nothing,
        gives=Resumed,
        faults=(*_BODY, *_STORED, "turn_running", "nothing_to_resume", "shutting_down"),
    ),
    Endpoint(
        method="POST",
        path="/api/scheduled",
        handler=post_scheduled,
        body=ScheduleBody,
        gives=ScheduledTurn,
        faults=(*_BODY, *_STORED, "no_schedule", "too_many_turns", "shutting_down"),
    ),
    Endpoint(
        method="GET",
        path="/api/scheduled",
        handler=list_scheduled,
        gives=ScheduleList,
        faults=("no_schedule", "store_unavailable"),
    ),
    Endpoint(
        method="POST",
        path="/api/scheduled/{number}/cancel",
        handler=cancel_scheduled,
        body=Nothing,
        gives=Unscheduled,
        faults=(*_BODY, "no_schedule", "unknown_turn", "store_unavailable"),
    ),
    Endpoint(method="GET", path="/api/mcp", handler=list_mcp, gives=McpList),
    Endpoint(
        method="POST",
        path="/api/mcp/{name}",
        handler=switch_mcp,
        body=SwitchBody,
        gives=McpList,
        faults=(*_BODY, "not_found"),
    ),
    Endpoint(
        method="GET",
        path="/api/timelines",
        handler=list_timelines,
        gives=TimelineList,
        faults=("store_unavailable",),
    ),
    Endpoint(
        method="GET",
        path="/api/timelines/{name}",
        handler=read_timeline,
        query=PageQuery,
        gives=TimelinePage,
        faults=(*_STORED, "invalid_request"),
    ),
    Endpoint(
        method="GET",
        path="/api/timelines/{name}/follow",
        handler=follow_timeline,
        query=AfterQuery,
        gives=_STREAM,
        faults=(*_STORED, "invalid_request", "too_many_streams"),
        headers=("last-event-id",),
    ),
    Endpoint(
        method="GET",
        path="/api/timelines/{name}/segments",
        handler=show_segments,
        query=SegmentQuery,
        gives=SegmentPage,
        faults=(*_STORED, "invalid_request"),
    ),
    Endpoint(
        method="GET",
        path="/api/timelines/{name}/lines",
        handler=send_lines,
        gives=JSON_LINES,
        faults=_STORED,
    ),
    Endpoint(
        method="GET",
        path="/api/timelines/{name}/page",
        handler=show_timeline,
        gives=_HTML,
        faults=(*_STORED, *_WORK),
    ),
    Endpoint(
        method="GET",
        path="/api/timelines/{name}/verify",
        handler=verify_timeline,
        gives=Verified,
        faults=_STORED,
    ),
    Endpoint(
        method="GET",
        path="/api/artifacts/{digest}",
        handler=send_artifact,
        query=ArtifactQuery,
        gives="*/*",
        also=(206, 304),
        faults=("artifact_missing", "artifact_damaged", "bad_range", "invalid_request"),
        headers=("range",),
    ),
    Endpoint(
        method="GET",
        path="/api/approvals",
        handler=list_approvals,
        query=ApprovalQuery,
        gives=ApprovalList,
        faults=("invalid_request", "store_unavailable"),
    ),
    Endpoint(
        method="POST",
        path="/api/approvals/{id}",
        handler=answer_approval,
        body=AnswerBody,
        gives=ShownApproval,
        faults=(
            *_BODY,
            *("unknown_approval", "approval_answered", "approval_hidden", "store_unavailable"),
        ),
    ),
    Endpoint(method="GET", path="/api/tools", handler=list_tools, gives=ToolList),
    Endpoint(
        method="GET",
        path="/api/tools/verdicts",
        handler=show_verdicts,
        gives=ToolVerdicts,
    ),
    Endpoint(
        method="POST",
        path="/api/models/test",
        handler=test_model,
        body=TestBody,
        gives=ModelTest,
        faults=(*_BODY, "too_busy"),
    ),
    Endpoint(
        method="GET",
        path="/api/tools/{name}",
        handler=show_tool,
        gives=ShownTool,
        faults=("unknown_tool",),
    ),
    Endpoint(method="GET", path="/api/dialects", handler=list_dialects, gives=DialectList),
    Endpoint(
        method="POST",
        path="/api/parse",
        handler=parse_text,
        body=ParseBody,
        gives=ParsedText,
        faults=(*_BODY, *_WORK),
    ),
    Endpoint(
        method="POST",
        path="/api/convert",
        handler=convert_text,
        body=ConvertBody,
        gives=Converted,
        faults=(*_BODY, *_WORK),
    ),
    Endpoint(method="GET", path="/api/models", handler=list_models, gives=ModelList),
    Endpoint(method="GET", path=HEALTH, handler=show_health, gives=Health, also=(503,)),
    *PROBES,
    Endpoint(method="GET", path="/api/openapi.json", handler=show_openapi, gives=Document),
)
"""Every address of the server."""
