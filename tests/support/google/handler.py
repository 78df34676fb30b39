"""The HTTP side of the played service: what comes in, what goes out."""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from support.google.plans import Plan
from support.google.state import Json, Refused

__all__ = ("Listener", "Received", "Sent")

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


class Received(msgspec.Struct, frozen=True):
    """A request, before any check."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    content: bytes

    def form(self) -> dict[str, str]:
        """A body of a form, each name once; a client may also name itself in its header."""
        form = {name: values[0] for name, values in _parameters(self.content.decode()).items()}
        kind, _, named = self.headers.get("authorization", "").partition(" ")
        if kind == "Basic":
            client, _, secret = base64.b64decode(named).decode().partition(":")
            form |= {"client_id": client, "client_secret": secret}
        return form

    def only_query(self) -> dict[str, str]:
        """The query, each name once."""
        return {name: values[0] for name, values in self.query.items()}


class Sent(msgspec.Struct, frozen=True):
    """An answer; `cut` stands for none."""

    status: int
    content: bytes
    headers: dict[str, str]
    cut: bool = False

    @classmethod
    def of_json(cls, status: int, body: Any, headers: dict[str, str] | None = None) -> Sent:
        kind = {"Content-Type": "application/json; charset=UTF-8"}
        return cls(status, json.dumps(body).encode(), {**kind, **(headers or {})})

    @classmethod
    def of_refusal(cls, refused: Refused) -> Sent:
        return cls.of_json(refused.status, {"error": _error(refused)}, refused.headers)

    @classmethod
    def of_plan(cls, plan: Plan) -> Sent:
        if plan.raw is not None:
            return cls(plan.status, plan.raw, {"Content-Type": "text/html", **plan.headers})
        if plan.cut:
            return cls(0, b"", {}, cut=True)
        return cls.of_refusal(Refused(plan.status, plan.reason, plan.message, plan.headers))


def _error(refused: Refused) -> Json:
    item = {"domain": "global", "reason": refused.reason, "message": refused.message}
    known = _STATUSES.get(refused.status)
    return {
        "code": refused.status,
        "message": refused.message,
        "errors": [item],
        **({"status": known} if known else {}),
    }


class Listener(ThreadingHTTPServer):
    """Listens on loopback; each connection has a thread."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Received], Sent]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asks may leave in the middle; all else is said."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Reads a request whole, and writes the answer at once."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""

    def _play(self) -> None:
        assert isinstance(self.server, Listener)
        sent = self.server.answer(self._received())
        if sent.cut:
            self.close_connection = True
            return
        content, headers = sent.content, dict(sent.headers)
        takes = self.headers.get("Accept-Encoding", "")
        if len(content) > 1000 and "gzip" in takes and "Content-Encoding" not in headers:
            content, headers["Content-Encoding"] = gzip.compress(content, 1), "gzip"
        lines = [f"HTTP/1.1 {sent.status} .", f"Content-Length: {len(content)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        # In one piece: two would wait for each other on a kept connection.
        self.wfile.write("\r\n".join([*lines, "", ""]).encode() + content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _play

    def _received(self) -> Received:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        method, query = self.command, url.query
        if headers.get("x-http-method-override"):  # of an address that is too long
            method, query, content = headers["x-http-method-override"], content.decode(), b""
        return Received(method, url.path, _parameters(query), headers, content)


def _parameters(text: str) -> dict[str, list[str]]:
    return parse_qs(text, keep_blank_values=True, strict_parsing=bool(text))
