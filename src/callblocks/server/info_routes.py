"""Lists of the tools, dialects and models of a server.

GET /api/tools     GET /api/tools/NAME     GET /api/dialects     GET /api/models

Kept files by their digest, whole or a part of them.

    GET /api/artifacts/4f0c…e1?name=report.pdf

The content of a digest never changes, so it may be kept by the browser for ever. It is checked
against its digest whenever it is read.

Reading and rewriting any text, for the playground. Nothing is kept, and nothing runs.

POST /api/parse      {"text": "…", "dialect": "auto", "model": "…", "tools": […]}
POST /api/convert    {"text": "…", "dialect": "auto", "into": "tool-fence"}

A process beside the server does the work; see `cpu_program`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import quote

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from callblocks import __version__
from callblocks.core.errors import CallerError, TimelineError
from callblocks.core.specs import specs_by_name
from callblocks.dialects import dialects
from callblocks.models.model import Scenario, facts_of, mode_of, scenarios_of
from callblocks.parser import AUTO
from callblocks.server.access import knows_token
from callblocks.server.cpu_program import ConvertWork, ParseWork
from callblocks.server.http.faults import ApiFault, answer_json
from callblocks.server.http.monitoring import METRICS_TYPE, State
from callblocks.server.http.protocol import drop
from callblocks.server.http.request import range_of, read_body, read_query
from callblocks.server.service import Service, service_of
from callblocks.session.model_choice import DEFAULT_DIALECT, Offered, known_dialect
from callblocks.timeline.artifacts.media_types import mime_of
from callblocks.tools.tool import Tool

__all__ = (
    "ArtifactQuery",
    "ConvertBody",
    "DialectList",
    "Health",
    "ModelList",
    "ParseBody",
    "ShownDialect",
    "ShownModel",
    "ShownTool",
    "ToolList",
    "convert_text",
    "file_headers",
    "list_dialects",
    "list_models",
    "list_tools",
    "parse_text",
    "send_artifact",
    "show_health",
    "show_live",
    "show_metrics",
    "show_ready",
    "show_tool",
)

_LONGEST_TEXT = 1_000_000
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")

_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=_LONGEST_TEXT)]


_Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=200)]
_Tools: TypeAlias = Annotated[list[Any], msgspec.Meta(max_length=1000)]


class ParseBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text, and the name of the dialect that it is read in.

    `model` is the name of the model that wrote it, and `tools` are declarations in any shape.
    """

    text: _Text
    dialect: str = AUTO
    model: _Name = ""
    tools: _Tools = []
    in_code_fences: bool | None = None


class ConvertBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text, the dialect that it is read in, and the one that it is written in."""

    text: _Text
    into: str
    dialect: str = AUTO
    model: _Name = ""
    tools: _Tools = []


async def parse_text(request: Request) -> Response:
    """Parse a text: its events and problems, each with the offset at which it was reported."""
    service = service_of(request)
    body = await read_body(request, ParseBody, service.settings)
    _check(body.dialect, (AUTO, *dialects))
    await service.read(lambda: _check_tools(body.tools))
    work = ParseWork(body.text, body.dialect, body.model, body.tools, body.in_code_fences)
    return await service.work(request, work)


async def convert_text(request: Request) -> Response:
    """A text in another dialect, and what that cannot say."""
    service = service_of(request)
    body = await read_body(request, ConvertBody, service.settings)
    _check(body.dialect, (AUTO, *dialects))
    _check(body.into, tuple(dialects))
    await service.read(lambda: _check_tools(body.tools))
    work = ConvertWork(body.text, body.dialect, body.into, body.model, body.tools)
    return await service.work(request, work)


def _check(name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        words = f"no dialect {name!r:.60}; choose from: {', '.join(known)}"
        raise ApiFault("invalid_request", words)


def _check_tools(tools: list[Any]) -> None:
    try:
        specs_by_name(tools)
    except CallerError as error:
        raise ApiFault("invalid_request", f"tools: {error}") from error


class ShownTool(msgspec.Struct, frozen=True):
    """A tool: what a model sees of it, and what a policy knows of it."""

    name: str
    description: str
    parameters: dict[str, Any]
    traits: tuple[str, ...]
    origin: str
    runs_here: bool
    needs_approval: bool
    body: str | None = None


class ToolList(msgspec.Struct, frozen=True):
    """Every tool."""

    tools: list[ShownTool]


class ShownDialect(msgspec.Struct, frozen=True):
    """A dialect; `is_used` is the one that the model is taught here.

    A turn may choose one that `is_taught`, or `auto` for any; the others only display calls.
    """

    name: str
    summary: str
    syntax: str
    is_used: bool
    is_taught: bool


class DialectList(msgspec.Struct, frozen=True):
    """Every dialect; `used` is the name of the one that is used without a choice, or `auto`."""

    dialects: list[ShownDialect]
    used: str


class ShownModel(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model, and prompts that it has an answer to where it knows them.

    `is_used` is one that replies without a choice, in `dialect`; `scenarios` are for a choice.
    `taught` is the dialect that it is taught where `dialect` is `auto`, and `mode` how its server
    is given tools now. `key` names the variable that the key is read from.
    """

    name: str
    suggestions: tuple[str, ...]
    is_used: bool
    dialect: str
    taught: str
    mode: str
    scenarios: tuple[Scenario, ...]
    address: str = ""
    key: str = ""
    temperature: float | None = None
    system: str = ""


class ModelList(msgspec.Struct, frozen=True):
    """The models that reply here; in a `team` each member has its own, and a turn chooses none."""

    models: list[ShownModel]
    team: bool


async def list_tools(request: Request) -> Response:
    """Every tool that a chat may call, as far as the policy lets it."""
    registry = service_of(request).host.registry
    return answer_json(ToolList([_shown(tool) for tool in registry.tools]))


async def show_tool(request: Request) -> Response:
    """One tool."""
    return answer_json(_shown(service_of(request).host.registry[request.path_params["name"]]))


async def list_dialects(request: Request) -> Response:
    """Every dialect that calls may be written in."""
    used = service_of(request).host.settings.dialect or AUTO
    return answer_json(
        DialectList(
            [
                ShownDialect(
                    name, dialect.summary, dialect.syntax, name == used, bool(dialect.rules)
                )
                for name, dialect in dialects.items()
            ],
            used,
        )
    )


async def list_models(request: Request) -> Response:
    """The models that reply here; each member of a team may have its own."""
    service = service_of(request)
    team = service.host.settings.team
    if team is not None:
        voices = {id(one.model): one for one in (*team.members, team.consensus)}.values()
        shown = [_model(Offered(one.model, one.dialect), True) for one in voices]
        return answer_json(ModelList(shown, team=True))
    first, *others = service.host.offered
    shown = [_model(first, True), *(_model(one, False) for one in others)]
    return answer_json(ModelList(shown, team=False))


def _model(offered: Offered, is_used: bool) -> ShownModel:
    model = offered.model
    facts = facts_of(model)
    return ShownModel(
        name=offered.name,
        suggestions=tuple(getattr(model, "suggestions", ())),
        is_used=is_used,
        dialect=offered.dialect or AUTO,
        taught=known_dialect(offered) or DEFAULT_DIALECT,
        mode=mode_of(model),
        scenarios=scenarios_of(model),
        address=facts.address,
        key=_key(facts.key_hint),
        temperature=facts.temperature,
        system=offered.system or "",
    )


def _key(hint: str) -> str:
    """Return the variable that a hint about a key names, and that it is empty."""
    found = _VARIABLE.search(hint)
    if found is None:
        return ""
    return found[0] if "was sent is" in hint else f"{found[0]}, not set"


def _shown(tool: Tool) -> ShownTool:
    spec = tool.spec
    return ShownTool(
        name=spec.name,
        description=spec.description,
        parameters=spec.parameters,
        traits=tool.traits.names(),
        origin=tool.origin,
        runs_here=tool.function is not None,
        needs_approval=tool.needs_approval,
        body=spec.body,
    )


# --- The state of health, and the metrics ---
#
#     GET /api/health     200 {"status": "ok", …}, or 503 where nothing can be kept
#     GET /healthz        200 while the process answers: one that does not is to be started anew
#     GET /readyz         200 while it takes work, or 503: others are to be asked meanwhile
#     GET /metrics        for Prometheus
#
# Without the token, the state of health has the `status` alone.


class Health(msgspec.Struct, frozen=True, omit_defaults=True):
    """`ok`, or what is wrong: the store does not answer, or the disk takes nothing more."""

    status: State
    version: str = ""
    model: str = ""
    sdk_version: int = 0
    running_turns: int = 0


async def show_health(request: Request) -> Response:
    """Report the state of health."""
    service = service_of(request)
    status = await service.health.state()
    health = Health(status)
    if knows_token(request, service.settings.token):
        health = Health(
            status,
            __version__,
            service.host.offered[0].name,
            service.settings.sdk_version,
            await service.chats.count(),
        )
    return answer_json(health, 200 if status == "ok" else 503)


class Live(msgspec.Struct, frozen=True):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Ready(msgspec.Struct, frozen=True):
    """`ok`, or why no work is taken: that of the health, or the server ends."""

    status: State | Literal["shutting_down"]


async def show_live(request: Request) -> Response:
    """Answer, and ask nothing else: a store that is away is no reason to start a process anew."""
    return answer_json(Live())


async def show_ready(request: Request) -> Response:
    """Report whether this process takes work now."""
    service = service_of(request)
    status = "shutting_down" if service.is_ending else await service.health.state()
    return answer_json(Ready(status), 200 if status == "ok" else 503)


async def show_metrics(request: Request) -> Response:
    """All counts, as Prometheus reads them."""
    service = service_of(request)
    # A database that is away is counted elsewhere.
    with suppress(TimelineError):
        await service.chats.measure()
    headers = {"content-type": METRICS_TYPE, "cache-control": "no-store"}
    return Response(service.metrics.text(), 200, headers)


# --- Headers of a kept file, so that a browser shows it and does nothing else with it ---
#
# Pictures of pixels, PDF and plain text are shown; everything else is saved as a file. The type is
# told by the content: neither its name nor whoever made it is believed.

_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_TEXTS = ("text/plain", "text/markdown", "text/csv", "application/json", "application/yaml")
_PDF = "application/pdf"
_ODD = re.compile(r"[^A-Za-z0-9 ._()+-]")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_LONGEST = 150
_NO_SCRIPTS = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'"
# A browser's own viewer of PDF does not work in a sandbox.
_VIEWER = "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; frame-ancestors 'self'"


def file_headers(name: str, digest: str, content: bytes) -> dict[str, str]:
    """The headers of a file that is sent under a name."""
    shown = _shown_type(mime_of(name, content))
    kind = "inline" if shown else "attachment"
    return {
        "content-type": shown or "application/octet-stream",
        "content-disposition": f"{kind}; {_file_name(name or digest[:16])}",
        "content-security-policy": _VIEWER if shown == _PDF else _NO_SCRIPTS,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "accept-ranges": "bytes",
        "cache-control": "private, max-age=31536000, immutable",
        "etag": f'"{digest}"',
    }


def _shown_type(mime: str) -> str:
    if mime in _PICTURES or mime == _PDF:
        return mime
    return "text/plain; charset=utf-8" if mime in _TEXTS else ""


def _file_name(name: str) -> str:
    """The name for all browsers, and for those that know more than ASCII."""
    last = _UNSEEN.sub("", name.replace("\\", "/").rpartition("/")[2]).strip(". ") or "file"
    stem, dot, ending = last.rpartition(".")
    if dot and stem and len(ending) <= 20:
        last = f"{stem[: _LONGEST - len(ending)]}.{ending}"
    last = last[:_LONGEST]
    plain = _ODD.sub("_", last)
    return f"filename=\"{plain}\"; filename*=UTF-8''{quote(last, safe='')}"


# --- Kept files by their digest, whole or a part of them ---

_PIECE = 256 * 1024


class ArtifactQuery(msgspec.Struct, frozen=True):
    """The name that the file is sent under."""

    name: Annotated[str, msgspec.Meta(max_length=1000)] = ""


async def send_artifact(request: Request) -> Response:
    """A kept file."""
    service, digest = service_of(request), request.path_params["digest"]
    name = read_query(request, ArtifactQuery).name
    if "range" in request.headers and (
        part := await service.read(lambda: _part(service, digest, name, request.headers))
    ):
        return part
    content = await service.read(lambda: service.host.artifacts.read(digest))
    headers = file_headers(name, digest, content)
    if _has_it(request.headers, headers["etag"]):
        return Response(None, 304, headers)
    return _Content(memoryview(content), 200, headers, service.settings.send_timeout)


def _part(service: Service, digest: str, name: str, asked: Headers) -> Response | None:
    """Return the part of a file that a request asks for; `None` if it is to get the whole."""
    kept = service.host.artifacts.open(digest)
    # A part is sent with the type that the beginning tells: the whole of it may be large.
    headers = file_headers(name, digest, kept.part(0, _PIECE))
    if _has_it(asked, headers["etag"]) or asked.get("if-range", headers["etag"]) != headers["etag"]:
        return None
    found = range_of(asked["range"], kept.size)
    if found is None:
        return None
    headers["content-range"] = f"bytes {found.start}-{found.stop - 1}/{kept.size}"
    part = memoryview(kept.part(found.start, found.stop))
    return _Content(part, 206, headers, service.settings.send_timeout)


def _has_it(headers: Headers, etag: str) -> bool:
    known = {tag.strip().removeprefix("W/") for tag in headers.get("if-none-match", "").split(",")}
    return etag in known or "*" in known


class _Content(Response):
    """Sent piece by piece, at the pace of the client; one that takes nothing is dropped."""

    def __init__(
        self, content: memoryview, status: int, headers: Mapping[str, str], patience: float
    ) -> None:
        super().__init__(None, status, {**headers, "content-length": str(len(content))})
        self._content = content
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **status})
        size = 0 if scope["method"] == "HEAD" else len(self._content)
        try:
            for start in range(0, size, _PIECE):
                piece = bytes(self._content[start : start + _PIECE])
                async with asyncio.timeout(self._patience):
                    message = {"type": "http.response.body", "body": piece, "more_body": True}
                    await send(message)
        except TimeoutError:
            await drop(scope, receive)
            return
        await send({"type": "http.response.body", "body": b""})
