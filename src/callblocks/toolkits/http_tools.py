"""`api_call`: one HTTP request to a public server.

What the server answers is the output, whatever its status: a model needs the words of a 404
as much as those of a 200. The answer is text of others, so it taints the turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.urls import read_url
from callblocks.guard.net.client import Client, Response
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

__all__ = ("http_tools",)

# The client has the last word on the time; the runtime's own limit is the net below it.
_SLACK = 10
_JSON = "application/json"
# Response headers that a model can act on. All others (cookies, tracing ids, security headers) cost
# tokens, and some of them carry secrets.
_SHOWN = frozenset(
    (
        *("allow", "content-language", "content-length", "content-type", "date", "etag", "link"),
        *("last-modified", "location", "retry-after", "www-authenticate"),
    )
)
_SHOWN_START = ("ratelimit", "x-ratelimit", "x-total")
# Standard phrases, not those of the server: its reason phrase is free text and could carry a prompt
# injection.
_REASONS = {int(status): status.phrase for status in HTTPStatus}
# A name for the kept file is taken from the URL, so it must not be able to name a folder.
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_Uri = Annotated[str, Field(min_length=1, json_schema_extra={"format": "uri"})]
# Only upper-case methods: a policy rule about a method then sees exactly the method that is sent.
_Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_Body = str | dict[str, Any] | list[Any] | None


def http_tools(client: Client) -> tuple[Tool, ...]:
    """Return the tools that send HTTP requests through one client."""

    def precheck(url: str, method: str, headers: dict[str, str], body: _Body) -> None:
        client.check(url, method, headers=_headers(headers, method, body, ""), body=_body(body))

    @tool(
        open_world=True,
        kind="source",
        body="body",
        precheck=precheck,
        timeout=client.limits.deadline + _SLACK,
        origin="builtin",
    )
    async def api_call(
        url: _Uri,
        context: Context,
        method: _Method = "GET",
        headers: dict[str, str] = {},  # noqa: B006 the schema shows it, and nothing changes it
        body: _Body = None,
    ) -> dict[str, Any]:
        """Send one HTTP request to a public server and return its answer, whatever the status.

        Args:
            url: the whole address, such as https://api.example.org/tides?day=1
            method: what to do there, in capitals
            headers: names with their values, such as {"Accept": "application/json"}; Host,
                Content-Length and the like are set already
            body: text sent as it is, or an object or array sent as JSON, such as {"name": "Ada"}
        """
        sent = _body(body)
        given = _headers(headers, method, body, context.key)
        # Taint before the request, so that neither a failure nor a cancellation leaves its text
        # untainted.
        context.taint(f"the answer of {read_url(url).host}")
        response = await client.request(
            url, method, headers=given, body=sent, check=context.refusal
        )
        if response.not_followed:
            context.notice(
                "redirect_not_followed",
                f"the server leads to {response.not_followed}; ask there yourself if you mean it",
                location=response.not_followed,
            )
        return _output(response, context)

    return (api_call,)


def _body(body: _Body) -> bytes:
    try:
        if body is None:
            return b""
        return body.encode() if isinstance(body, str) else msgspec.json.encode(body)
    except (UnicodeEncodeError, msgspec.MsgspecError, RecursionError) as error:
        why = f"the body cannot be sent: {error}"
        raise ToolError("invalid_input", why, body=why) from error


def _headers(headers: Mapping[str, str], method: str, body: _Body, key: str) -> dict[str, str]:
    """Return the caller's headers with a content type and an idempotency key where they are
    missing.
    """
    given = dict(headers)
    names = {name.lower() for name in headers}
    if body is not None and "content-type" not in names:
        given["Content-Type"] = _JSON if _is_json(body) else "text/plain; charset=utf-8"
    # The key is derived from the call, so a call that is run again after a crash sends the same
    # key, and a server that supports the header does not act twice. GET, PUT and DELETE are
    # idempotent already.
    if key and method in ("POST", "PATCH") and "idempotency-key" not in names:
        given["Idempotency-Key"] = key
    return given


def _is_json(body: str | dict[str, Any] | list[Any]) -> bool:
    """Tell if a body is JSON. A string counts only if it holds an object or an array."""
    # A bare `12` or `"a"` is valid JSON as well, but a model that sends such a text means plain
    # text.
    if not isinstance(body, str):
        return True
    return body.lstrip()[:1] in ("{", "[") and _decoded(body) is not None


def _output(response: Response, context: Context) -> dict[str, Any]:
    output: dict[str, Any] = {"status": response.status}
    reason = _REASONS.get(response.status)
    if reason is not None:
        output["reason"] = reason
    output["url"] = response.url
    output["headers"] = {
        name: response.header(name)
        for name, _ in response.headers
        if name in _SHOWN or name.startswith(_SHOWN_START)
    }
    if response.body:
        output["body"] = _shown_body(response, context)
    return output


def _shown_body(response: Response, context: Context) -> Any:
    text = response.text
    if text is None:
        return _kept(response, context)
    if response.mime == _JSON or response.mime.endswith("+json"):
        value = _decoded(text)
        return text if value is None else value.read
    return text


class _Decoded(msgspec.Struct):
    read: Any


# A wrapper, because `null` decodes to `None`, which must differ from "not JSON".
def _decoded(text: str) -> _Decoded | None:
    try:
        return _Decoded(msgspec.json.decode(text))
    except (msgspec.MsgspecError, RecursionError):
        return None


def _kept(response: Response, context: Context) -> str:
    """Keep a binary body as an artifact and return a placeholder that names it."""
    size = f"{len(response.body)} bytes of {response.mime or 'no known type'}"
    path = read_url(response.url).target.partition("?")[0]
    name = path.rpartition("/")[2]
    try:
        kept = context.keep(
            name if _FILE_NAME.fullmatch(name) else "response.bin", response.body, response.mime
        )
    except RuntimeError:  # nothing keeps files in this run
        return f"[{size}, not kept]"
    return f"[{size}, kept as {kept.path}]"
