"""The OpenAPI document of the server, made of the table of its endpoints.

GET /api/openapi.json
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from callblocks import __version__
from callblocks.server.http.faults import FAULTS, ErrorBody

__all__ = (
    "ALWAYS",
    "Endpoint",
    "Handler",
    "openapi_document",
)

# --- One address of the server: its method, its handler, and the shapes of request and answer ---
#
# The routes and the OpenAPI document are both made of these.

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`gives` is a struct, or the media type of what is no JSON; `faults` are codes of errors.

    `query` and `body` are structs. `also` are further statuses that are no error, such as 204. Of
    the names in `path`, only {path} takes slashes.
    """

    method: Literal["GET", "POST"]
    path: str
    handler: Handler
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    gives: type[msgspec.Struct] | str
    also: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first line of its handler's docstring."""
        return (self.handler.__doc__ or "").partition("\n")[0]

    @property
    def name(self) -> str:
        """The name of its handler."""
        return getattr(self.handler, "__name__", "")

    def route(self) -> Route:
        """The route for Starlette."""
        path = self.path.replace("{path}", "{path:path}")
        return Route(path, self.handler, methods=[self.method])


# --- The OpenAPI document of the server, made of the table of its endpoints ---

ALWAYS = ("bad_header", "unauthorized", "foreign_host", "foreign_origin", "too_many_requests")
"""The errors that every address may answer with."""
_REFS = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)\}")
_PATTERNS = {
    "id": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
    "name": "^[^/]{1,200}$",
    "call": "^[^/]{1,200}$",
    "number": "^[1-9][0-9]{0,17}$",
    "digest": "^[0-9a-f]{64}$",
    "path": "^[A-Za-z0-9_-]{1,50}(/[A-Za-z0-9_-]{1,50}){0,3}[.](css|html|js|svg)$",
}
_HEADERS = {
    "last-event-id": "^[0-9]{1,15}([.][0-9]{1,15})?$",
    "x-callblocks-sdk-version": "^[567]$",
    "idempotency-key": "^[!-~]{1,200}$",
    "range": "^bytes=[0-9]{0,15}-[0-9]{0,15}$",
}


def openapi_document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The whole document."""
    known = tuple(endpoints)
    shapes = [shape for one in known for shape in _shapes(one)]
    _, components = msgspec.json.schema_components([*shapes, ErrorBody], ref_template=_REFS)
    paths: dict[str, dict[str, Any]] = {}
    for one in known:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "callblocks", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _shapes(endpoint: Endpoint) -> list[type[msgspec.Struct]]:
    given = (endpoint.query, endpoint.body, endpoint.gives)
    return [shape for shape in given if isinstance(shape, type)]


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": [*_path_parameters(endpoint), *_query(endpoint), *_headers(endpoint)],
        "responses": _responses(endpoint),
    }
    if endpoint.body is not None:
        content = {"application/json": {"schema": _ref(endpoint.body)}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _path_parameters(endpoint: Endpoint) -> Iterable[dict[str, Any]]:
    for name in _PARAMETER.findall(endpoint.path):
        schema = {"type": "string", "pattern": _PATTERNS[name]}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query(endpoint: Endpoint) -> Iterable[dict[str, Any]]:
    if endpoint.query is None:
        return
    _, components = msgspec.json.schema_components([endpoint.query], ref_template=_REFS)
    shape = components[endpoint.query.__name__]
    for name, schema in shape["properties"].items():
        is_required = name in shape["required"]
        yield {"name": name, "in": "query", "required": is_required, "schema": _plain(schema)}


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A query has no null: what is not given is left out."""
    shapes = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if len(shapes) == 1:
        return shapes[0]
    if None in schema.get("enum", ()):
        return {"enum": [one for one in schema["enum"] if one is not None]}
    return schema


def _headers(endpoint: Endpoint) -> Iterable[dict[str, Any]]:
    for name in endpoint.headers:
        schema = {"type": "string", "pattern": _HEADERS[name]}
        yield {"name": name, "in": "header", "required": False, "schema": schema}


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    responses: dict[str, Any] = {"200": {"description": "done", "content": _content(endpoint)}}
    for status in endpoint.also:
        content = {} if status in (204, 304) else {"content": _content(endpoint)}
        responses[str(status)] = {"description": _ALSO[status], **content}
    codes: dict[int, list[str]] = {}
    for code in (*endpoint.faults, *ALWAYS):
        codes.setdefault(FAULTS[code][0], []).append(code)
    for status, those in codes.items():
        if str(status) not in responses:
            words = "; ".join(f"{code}: {FAULTS[code][1]}" for code in those)
            schema = {"application/json": {"schema": _ref(ErrorBody)}}
            responses[str(status)] = {"description": words, "content": schema}
    return responses


_ALSO = {
    204: "nothing runs",
    206: "a part of it",
    304: "unchanged",
    500: "the files of the page are missing",
    503: "the store does not answer",
}


def _content(endpoint: Endpoint) -> dict[str, Any]:
    if isinstance(endpoint.gives, str):
        return {endpoint.gives: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": _ref(endpoint.gives)}}


def _ref(shape: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": _REFS.format(name=shape.__name__)}
