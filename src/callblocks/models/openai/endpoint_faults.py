"""Faults of a model's server, as a `ModelError` that a person can act on.

    http://127.0.0.1:8080/v1 refused the request (401): invalid key ••••••••; check the key

The server's own words are cut short, and every secret of the settings is removed from them. A hint
follows: which variable has the key, which models there are, what to lower, what to start.
"""

from __future__ import annotations

import base64
import html
import re
from typing import Any, cast
from urllib.parse import quote, unquote

import msgspec

from callblocks.core.errors import ModelError
from callblocks.core.redaction import REDACTED, redact
from callblocks.core.text import close_to, listed
from callblocks.models.openai.endpoint import EndpointSettings, plain_url
from callblocks.models.openai.known_servers import SERVERS, KnownServer, server_at

__all__ = (
    "Faults",
    "is_context_full",
    "is_model_unknown",
    "words_of",
)

# --- Detection of a refusal because the request does not fit into the model's context ---
#
# Each server has its own words for it, and few have a code:
#
#     context_length_exceeded                                         OpenAI, Groq, DeepSeek
#     This model's maximum context length is 4096 tokens …            OpenAI, vLLM, OpenRouter
#     request (9000 tokens) exceeds the available context size …      llama.cpp
#     prompt is too long: 210000 tokens > 200000 maximum              Anthropic
#     The input token count (1200000) exceeds the maximum number …    Gemini
#
# A phrase counts only with a word for "too much" beside it, so that a server which does not know a
# field named `context_window` does not match.

_CODES = r"context_length_exceeded|exceed_context_size|context_window_exceeded|max_prompt_tokens"
_ROOM = (
    r"(?:(?:maximum|model|model'?s|available|total|input|prompt) )*"
    r"(?:context|sequence|prompt|model|input)[ _-]*(?:length|size|window|limit)"
)
_MUCH = r"(?:exceed|overflow|longer than|larger than|greater than|too (?:long|large|big|many)|past)"
_PHRASES = (
    _CODES,
    rf"{_MUCH}[^.\n]{{0,80}}{_ROOM}",
    rf"{_ROOM}[^.\n]{{0,80}}{_MUCH}",
    # "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"
    r"maximum (?:context|prompt|model|sequence) length (?:is|of) [\d,]+",
    r"(?:prompt|input|request|messages?|conversation) (?:is|are) too (?:long|large)\b",
    r"(?:prompt|input) (?:\([^)]*\) )?is (?:longer|larger) than",
    r"tokens?[^.\n]{0,80}exceeds? the (?:maximum|limit|model)",
    r"exceeds? the (?:maximum|max) (?:number of )?(?:allowed )?(?:input )?tokens",
    r"too many (?:input |prompt )?tokens",
    r"tokens?`? must (?:be|have) (?:<=|less than|at most)|must have less than [\d,]+ tokens",
    r"reduce the length of (?:the|your) (?:messages|prompt|input)",
    r"context length of only",
)
_FULL = re.compile("|".join(_PHRASES), re.IGNORECASE)
_RATE = re.compile(r"per (?:second|minute|hour|day)|\b[tr]p[mdh]\b|rate.?limit", re.IGNORECASE)
_LOOKED_AT = 4000


# Words of servers, not codes: few servers have a code, and proxies often drop it.
def is_context_full(words: str) -> bool:
    """Return whether an error's code and message say that the prompt, or the reply, is too long."""
    start = words[:_LOOKED_AT]
    return _FULL.search(start) is not None and _RATE.search(start) is None


# --- Faults of a model's server, as a `ModelError` that a person can act on ---

_SHOWN = 300
# The most characters of an error that are searched: the patterns look ahead from each bracket.
_READ = 4000
_TAGS = re.compile(r"<(script|style)\b.*?(?:</\1|\Z)|<[^>]*>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>([^<]{1,200})", re.IGNORECASE)
# A shorter secret occurs in many ordinary words.
_SHORTEST = 4
# A server may quote the start or the end of a key.
_PART = 8

_HINTS = {
    400: "check the model's name and the fields in extra",
    401: "check the key",
    403: "check the key and what it may use",
    404: "check the address and the model's name",
    413: "send less",
    422: "check the model's name and the fields in extra",
    429: "wait a little, or check the account's limits",
    503: "wait a little: it may still be loading",
}
_CONTEXT_FULL = "model_context_full"
_LESS = (
    "send less: offer fewer tools (--only), lower the most tokens of a reply (--max-tokens), set "
    "`context` of the model in the config file (in a program, `budget` of the session), or begin "
    "a new chat"
)
# Statuses by which servers refuse a model's name, and their words for it.
_UNKNOWN_STATUS = (400, 404, 422)
_UNKNOWN = re.compile(
    r"model_not_found|(?:invalid|unknown|no such|unsupported) model\b"
    r"|\bmodel\b.{0,120}(?:not found|not exist|no longer exist|not a valid|not available|unknown)"
    r"|not a valid model",
    re.IGNORECASE | re.DOTALL,
)
_STATUS = {408: "model_timeout", 504: "model_timeout"} | dict.fromkeys(
    (429, 503, 529), "model_busy"
)
_TYPES = (
    (re.compile("rate_?limit|overload|busy|quota", re.IGNORECASE), "model_busy"),
    (re.compile("time_?out", re.IGNORECASE), "model_timeout"),
    (
        re.compile("invalid|authentication|permission|not_?found|exceed", re.IGNORECASE),
        "model_refused",
    ),
)


class Faults:
    """The errors of one endpoint; every message goes through `hide`.

    `url` is the name of the endpoint in them.
    """

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._secrets = _spellings(settings)
        self._parts = _parts_of(settings.key or "")
        self.url = self.hide(settings.shown_url)

    def hide(self, text: str) -> str:
        """Return the text on one line, without secrets and without terminal control characters."""
        text = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return redact(_without_parts(text, self._parts))

    def error(self, code: str, message: str, **details: Any) -> ModelError:
        """Return an error that names the address."""
        return ModelError(code, self.hide(f"{self.url} {message}"), url=self.url, **details)

    def status(
        self,
        status: int,
        body: bytes,
        location: str = "",
        offered: tuple[str, ...] | None = None,
    ) -> ModelError:
        """Return the error for a response that is no reply; `offered` are the server's models."""
        if 300 <= status < 400:
            return self._moved(status, location)
        text = body.decode("utf-8", "replace")
        # A 429 may mention tokens as well (a rate limit), so it never counts as a full context.
        code = code_of_status(status)
        if status != 429 and is_context_full(_classified(text)):
            code = _CONTEXT_FULL
        verb = {
            "model_refused": "refused the request",
            "model_busy": "is too busy",
            _CONTEXT_FULL: "has no room for the request in the model's context",
        }
        said = f"{verb.get(code, 'failed')} ({status})"
        words = self.short(words_of(text))
        hint = _LESS if code == _CONTEXT_FULL else self._hint(status, offered)
        message = "; ".join(filter(None, (f"{said}: {words}" if words else said, hint)))
        return self.error(code, message, status=status, words=words)

    def starting(self) -> str:
        """Return what to do where nothing listens at the address."""
        server = self._server
        if server is None or not server.start:
            return "check the address, and that the server runs"
        return f"{server.about} is probably not running; start it: {server.start}"

    def bad_proxy(self) -> ModelError:
        """Return the error for an environment with an invalid proxy."""
        return self.error(
            "model_unreachable",
            "is asked through a proxy that cannot be used; check HTTP_PROXY, HTTPS_PROXY and "
            "ALL_PROXY in the environment, or name the host in NO_PROXY",
        )

    @property
    def _server(self) -> KnownServer | None:
        return SERVERS.get(self._settings.server) or server_at(self._settings.base_url)

    def _hint(self, status: int, offered: tuple[str, ...] | None) -> str:
        """Return what to do about a status."""
        if status in (401, 403) and self._settings.key_hint:
            return self._settings.key_hint
        name = self._settings.model
        if offered is None or name in offered:
            return _HINTS.get(status, "")
        if not offered:
            return "it has no model; load one" + self._getting()
        near = close_to(name, offered)
        meant = f"did you mean {near}? " if near else ""
        return f"{meant}It has: {listed(offered)}{self._getting()}"

    def _getting(self) -> str:
        server = self._server
        if server is None or not server.get:
            return ""
        return f"; to fetch it: {server.get.replace('NAME', self._settings.model)}"

    def _moved(self, status: int, location: str) -> ModelError:
        goal = plain_url(location) or "another place"
        return self.error(
            "model_refused",
            f"sends on to {goal} ({status}), which is not followed; "
            "if that is the right server, make it the base URL",
            status=status,
        )

    def told(self, error: Any) -> ModelError:
        """Return an error that the server reported in place of a reply, or in the middle of one."""
        words = self.short(_said(error)) or "it does not say why"
        said = f"told an error instead of the reply: {words}"
        if is_context_full(_kinds(error)):
            return self.error(_CONTEXT_FULL, f"{said}; {_LESS}")
        return self.error(_code_of(error), said)

    def unreadable(self, problem: str, text: str = "") -> ModelError:
        """Return the error for data that is no reply."""
        words = self.short(words_of(text))
        said = f": {words}" if words else ""
        known = SERVERS.get(self._settings.server)
        api = known.api if known else "an OpenAI-compatible API"
        return self.error(
            "model_broken", f"sent {problem}{said}; check that the address is that of {api}"
        )

    def short(self, text: str) -> str:
        """Return the start of a server's message; redact before the cut, or half of a secret would
        stay.
        """
        hidden = self.hide(text[: _SHOWN * 40])
        return hidden if len(hidden) <= _SHOWN else f"{hidden[:_SHOWN]}…"


def code_of_status(status: int) -> str:
    """Return the code for an HTTP status that is not 200."""
    if status < 300:
        return "model_broken"
    return _STATUS.get(status, "model_refused" if status < 500 else "model_failed")


def is_model_unknown(status: int, body: bytes) -> bool:
    """Return whether a response may mean that the server has no model of that name."""
    if status not in _UNKNOWN_STATUS:
        return False
    text = _classified(body.decode("utf-8", "replace"))
    return status == 404 or _UNKNOWN.search(text) is not None


def _classified(text: str) -> str:
    """Return code, type and message of a body: never what it quotes of the request."""
    try:
        return _kinds(msgspec.json.decode(text))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return words_of(text)


def _kinds(error: Any) -> str:
    if isinstance(error, list) and error:
        return _kinds(cast("list[Any]", error)[0])
    if not isinstance(error, dict):
        return _said(error)
    given = cast("dict[str, Any]", error)
    inner = given["error"] if isinstance(given.get("error"), dict) else given
    kinds = (str(inner.get(name) or "") for name in ("code", "type", "error_type"))
    return "\n".join((*kinds, _said(inner)))


def words_of(text: str) -> str:
    """Return the message of a body: the message in JSON, the title of a page, or all of it."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        text = text[:_READ]
        title = _TITLE.search(text)
        return html.unescape(title[1] if title else _TAGS.sub(" ", text))
    return _said(value)


def _said(value: Any) -> str:
    """Return the message in an error of any known shape."""
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        # In this order: `error` may wrap the others, and FastAPI's `detail` is a list of `{loc,
        # msg}`.
        for name in ("error", "message", "detail", "msg"):
            if given.get(name):
                place = given.get("loc")
                fields = cast("list[Any]", place) if isinstance(place, list) else []
                named = ".".join(str(one) for one in fields if one != "body")
                return ": ".join(filter(None, (named, _said(given[name]))))
    if isinstance(value, list) and value:
        return _said(cast("list[Any]", value)[0])
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _code_of(error: Any) -> str:
    """Return the code for a reported error, by its number or else by its type."""
    if not isinstance(error, dict):
        return "model_failed"
    given = cast("dict[str, Any]", error)
    if isinstance(given.get("error"), dict):
        return _code_of(given["error"])
    for name in ("code", "status", "status_code"):
        number = given.get(name)
        if isinstance(number, int) and 400 <= number < 600:
            return code_of_status(number)
    # Numbers first, words second: the words of servers overlap, numbers do not.
    kind = " ".join(str(given.get(name)) for name in ("type", "code", "error_type"))
    return next((code for pattern, code in _TYPES if pattern.search(kind)), "model_failed")


def _parts_of(key: str) -> frozenset[str]:
    return frozenset(key[at : at + _PART] for at in range(len(key) - _PART + 1))


def _without_parts(text: str, parts: frozenset[str]) -> str:
    """Return the text without any run of characters that also occurs in the key."""
    kept: list[str] = []
    hidden = 0
    for at in range(len(text) - _PART + 1) if parts else ():
        if text[at : at + _PART] in parts:
            if at >= hidden:
                kept += (text[hidden:at], REDACTED)
            hidden = at + _PART
    return "".join((*kept, text[hidden:]))


def _spellings(settings: EndpointSettings) -> list[str]:
    """Return every secret in every spelling that a server may echo, the longest first."""
    found: set[str] = set()
    for secret in settings.secrets():
        plain = unquote(secret)
        in_json = msgspec.json.encode(plain).decode()[1:-1]
        basic = base64.b64encode(plain.encode()).decode()
        found.update((secret, plain, quote(secret, safe=""), in_json, basic))
        found.update(secret.split())
    return sorted((one for one in found if len(one) >= _SHORTEST), key=len, reverse=True)
