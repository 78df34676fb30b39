"""Google Workspace on loopback.

Each request is routed by the discovery documents that the client's wheel carries, and checked
by them: path, query, body, Authorization and scopes. What passes goes to the fake of its
service; what the fake answers is checked too.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from google.oauth2.credentials import Credentials
from support.google.checking import body_of, parameters_of, value_faults
from support.google.discovery import Description, find_route
from support.google.fields import Mask, chosen, mask_of
from support.google.handler import Listener, Received, Sent
from support.google.plans import Plan, Plans
from support.google.sign_in import CLIENT_ID, CLIENT_SECRET, REFRESH, SignIn
from support.google.state import Answer, Asked, Method, Refused, State
from support.google.uploads import body_and_media

__all__ = ("SERVICES", "Server", "methods_of")

SERVICES = ("gmail", "drive", "calendar", "docs", "sheets", "tasks")


def methods_of(state: State) -> dict[str, Method]:
    """The fakes of all services that have one."""
    found: dict[str, Method] = {}
    for service in SERVICES:
        name = f"support.google.{service}"
        if importlib.util.find_spec(name) is None:
            continue
        found.update(getattr(importlib.import_module(name), f"{service}_methods")(state))
    return found


class Server:
    """The played service; `reset()` empties it for the next test."""

    def __init__(self) -> None:
        self._http = Listener(self.answer)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._lock = threading.Lock()
        self.base = f"http://127.0.0.1:{self._http.server_port}"
        self.reset()

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def reset(self, methods: dict[str, Method] | None = None) -> State:
        """Start afresh, with the fakes of all services or with these methods only."""
        self.state = State()
        self.methods = methods_of(self.state) if methods is None else methods
        self.sign_in = SignIn()
        self.plans = Plans()
        self.scopes: frozenset[str] | None = None
        self.asked: list[Asked] = []
        self.refused: list[str] = []
        self.complaints: list[str] = []
        return self.state

    @property
    def seen(self) -> list[str]:
        """The ids of the methods that were asked, in order, those that failed too."""
        return [asked.id for asked in self.asked]

    def credentials(self, token: str = "acc3ss-token-0") -> Credentials:
        """Credentials of a person who is signed in here."""
        return Credentials(
            token,
            refresh_token=REFRESH,
            token_uri=f"{self.base}/token",
            client_id=CLIENT_ID,
            client_secret=CLIENT_SECRET,
        )

    def plan(
        self,
        status: int = 500,
        reason: str = "backendError",
        times: int = 1,
        retry_after: object = None,
        **more: Any,
    ) -> None:
        """Plant a fault; `more` are the other fields of a `Plan`."""
        if retry_after is not None:
            more["headers"] = {"Retry-After": str(retry_after), **more.get("headers", {})}
        self.plans.add(Plan(status=status, reason=reason, times=times, **more))

    def allow(self, scopes: Iterable[str] | None) -> None:
        """From now on let every token do only this; `None` is what the token was given for."""
        self.scopes = None if scopes is None else frozenset(scopes)

    def answer(self, received: Received) -> Sent:
        """What is sent back; the method of a fake runs alone."""
        try:
            if received.path in ("/auth", "/token", "/revoke"):
                with self._lock:
                    return self._sign_in(received)
            return self._answer(received)
        except Refused as refused:
            self.refused.append(refused.message)
            if received.path in ("/auth", "/token", "/revoke"):
                return Sent.of_json(refused.status, {"error": refused.reason})
            return Sent.of_refusal(refused)

    def _sign_in(self, received: Received) -> Sent:
        if received.path == "/auth":
            return Sent(302, b"", {"Location": self.sign_in.authorise(received.only_query())})
        form = received.form()
        if received.path == "/token":
            return Sent.of_json(200, self.sign_in.token(form))
        self.sign_in.revoke(form["token"])
        return Sent.of_json(200, {})

    def _answer(self, received: Received) -> Sent:
        route = find_route(received.method, received.path)
        if route is None:
            raise Refused(404, "notFound", f"no method at {received.method} {received.path}")
        method = route.method
        self._require_scope(method, received.headers.get("authorization", ""))
        path = parameters_of(method, "path", {name: [text] for name, text in route.path.items()})
        query = parameters_of(method, "query", received.query)
        body, media, media_type = body_and_media(received, route.upload)
        asked = Asked(
            id=method.id,
            path=path,
            query=query,
            body=body_of(method, body),
            media=media,
            media_type=media_type,
            download=query.get("alt") == "media",
            headers=received.headers,
        )
        mask = mask_of(method, query.get("fields", ""))
        self.asked.append(asked)
        plan = self.plans.take(method.id)
        if plan is None:
            return self._done(method, asked, mask)
        if plan.after:
            self._done(method, asked, mask)
        return Sent.of_plan(plan)

    def _require_scope(self, method: Description, header: str) -> None:
        held = self.sign_in.scopes(header)
        for scopes in (held, self.scopes):
            if scopes is not None and not scopes & method.scopes:
                raise Refused(
                    403,
                    "insufficientPermissions",
                    f"{method.id} takes one of {sorted(method.scopes)}, not {sorted(scopes)}",
                )

    def _done(self, method: Description, asked: Asked, mask: Mask) -> Sent:
        function = self.methods.get(method.id)
        if function is None:
            return self._complain(f"{method.id}: no fake has this method")
        try:
            with self._lock:
                given = function(asked)
        except Refused:
            raise
        except Exception as error:
            return self._complain(f"{method.id}: {type(error).__name__}: {error}")
        if given is None:
            return Sent(204, b"", {})
        if not isinstance(given, Answer):
            given = Answer(body=given)
        return self._checked(method, asked, given, mask)

    def _checked(self, method: Description, asked: Asked, given: Answer, mask: Mask) -> Sent:
        """The answer, unless Google would never give it."""
        if given.media is not None:
            if not asked.download and "export" not in method.id:
                return self._complain(f"{method.id}: a download that nobody asked for")
            return Sent(given.status, given.media, {"Content-Type": given.media_type})
        schema = method.schema("response")
        if schema is None:
            return self._complain(f"{method.id}: its answer is empty")
        schemas = method.document["schemas"]
        for fault in value_faults(schemas, schema, given.body, "answer", nulls=False):
            return self._complain(f"{method.id}: {fault}")
        return Sent.of_json(given.status, chosen(mask, given.body), given.headers)

    def _complain(self, complaint: str) -> Sent:
        """A fault of a fake, not of who asks: tests fail on it."""
        self.complaints.append(complaint)
        return Sent.of_refusal(Refused(501, "notImplemented", complaint))
