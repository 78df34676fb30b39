"""Lists of the tools, dialects and models of a server.

GET /api/tools     GET /api/tools/NAME     GET /api/dialects     GET /api/models
"""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks import __version__
from callblocks.dialects import dialects
from callblocks.models.model import Scenario, mode_of, scenarios_of
from callblocks.parser import AUTO
from callblocks.server.access import knows_token
from callblocks.server.http.faults import answer_json
from callblocks.server.http.health_check import State
from callblocks.server.http.metrics import METRICS_TYPE
from callblocks.server.service import service_of
from callblocks.session.model_choice import DEFAULT_DIALECT, Offered, known_dialect
from callblocks.tools.tool import Tool

__all__ = (
    "DialectList",
    "Health",
    "ModelList",
    "ShownDialect",
    "ShownModel",
    "ShownTool",
    "ToolList",
    "list_dialects",
    "list_models",
    "list_tools",
    "show_health",
    "show_metrics",
    "show_tool",
)


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


class ShownModel(msgspec.Struct, frozen=True):
    """A model, and prompts that it has an answer to where it knows them.

    `is_used` is one that replies without a choice, in `dialect`; `scenarios` are for a choice.
    `taught` is the dialect that it is taught where `dialect` is `auto`, and `mode` how its server
    is given tools now.
    """

    name: str
    suggestions: tuple[str, ...]
    is_used: bool
    dialect: str
    taught: str
    mode: str
    scenarios: tuple[Scenario, ...]


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
    return ShownModel(
        name=offered.name,
        suggestions=tuple(getattr(model, "suggestions", ())),
        is_used=is_used,
        dialect=offered.dialect or AUTO,
        taught=known_dialect(offered) or DEFAULT_DIALECT,
        mode=mode_of(model),
        scenarios=scenarios_of(model),
    )


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
            len(service.chats),
        )
    return answer_json(health, 200 if status == "ok" else 503)


async def show_metrics(request: Request) -> Response:
    """All counts, as Prometheus reads them."""
    headers = {"content-type": METRICS_TYPE, "cache-control": "no-store"}
    return Response(service_of(request).metrics.text(), 200, headers)
