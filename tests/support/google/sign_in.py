"""The played sign-in service: authorisation with PKCE, tokens, their renewal and their end."""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import urlencode

import msgspec

from support.google.state import Json, Refused

__all__ = ("CLIENT_ID", "CLIENT_SECRET", "REFRESH", "SignIn")

CLIENT_ID = "client-1.apps.example"
CLIENT_SECRET = "s3cret-of-client"
REFRESH = "r3fresh-token-0"


class _Code(msgspec.Struct, frozen=True):
    challenge: str
    redirect: str
    scope: str


class SignIn:
    """Who may ask: tokens with their scopes. `None` as scopes stands for all."""

    def __init__(self) -> None:
        self.access: dict[str, frozenset[str] | None] = {"acc3ss-token-0": None}
        self.refresh: dict[str, frozenset[str] | None] = {REFRESH: None}
        self.codes: dict[str, _Code] = {}
        self.asked: list[Json] = []
        self.denies = ""
        self.leaves_out: frozenset[str] = frozenset()
        self._made = 0

    def authorise(self, query: dict[str, str]) -> str:
        """Where the browser is sent once the person agreed (or, with `denies`, did not)."""
        self.asked.append(dict(query))
        _require(query.get("client_id") == CLIENT_ID, "invalid_client")
        _require(query.get("response_type") == "code", "unsupported_response_type")
        _require(query.get("code_challenge_method") == "S256", "invalid_request")
        back = {"state": query["state"]}
        if self.denies:
            back["error"] = self.denies
        else:
            back["code"] = f"c0de-{len(self.codes)}"
            self.codes[back["code"]] = _Code(
                query["code_challenge"], query["redirect_uri"], query["scope"]
            )
        return f"{query['redirect_uri']}?{urlencode(back)}"

    def token(self, form: dict[str, str]) -> Json:
        """A token for a code, or a new one for a refresh token."""
        self.asked.append(dict(form))
        _require(form.get("client_id") == CLIENT_ID, "invalid_client")
        _require(form.get("client_secret") == CLIENT_SECRET, "invalid_client")
        if form["grant_type"] == "refresh_token":
            _require(form["refresh_token"] in self.refresh, "invalid_grant")
            return self._issue(self.refresh[form["refresh_token"]])
        code = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if code is None or code.challenge != challenge or code.redirect != form["redirect_uri"]:
            raise Refused(400, "invalid_grant")
        scopes = frozenset(code.scope.split()) - self.leaves_out
        refresh = f"r3fresh-token-{len(self.refresh)}"
        self.refresh[refresh] = scopes
        return {**self._issue(scopes), "refresh_token": refresh}

    def revoke(self, token: str) -> None:
        """End a token, and with a refresh token all that came of it."""
        self.asked.append({"revoked": token})
        _require(token in self.refresh or token in self.access, "invalid_token")
        self.refresh.pop(token, None)
        self.access.clear()

    def scopes(self, header: str) -> frozenset[str] | None:
        """What the bearer of an Authorization header may do."""
        kind, _, token = header.partition(" ")
        if kind != "Bearer" or token not in self.access:
            raise Refused(
                401,
                "authError",
                "Request had invalid authentication credentials.",
                {"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/"'},
            )
        return self.access[token]

    def _issue(self, scopes: frozenset[str] | None) -> Json:
        self._made += 1
        token = f"acc3ss-token-{self._made}"
        self.access[token] = scopes
        scope = {} if scopes is None else {"scope": " ".join(sorted(scopes))}
        return {"access_token": token, "expires_in": 3599, "token_type": "Bearer", **scope}


def _require(holds: bool, error: str) -> None:
    if not holds:
        raise Refused(401 if error == "invalid_client" else 400, error)
