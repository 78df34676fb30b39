"""Settings of an endpoint: its address, and how its model is asked.

    EndpointSettings(base_url="http://127.0.0.1:8080/v1", model="qwen3-8b")

The key, the values of headers and a login before the `@` of an address are secrets: no `repr` and
no error shows them.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from callblocks.core.errors import CallerError
from callblocks.core.text import brief
from callblocks.models.model import CALL_MODES, CallMode

__all__ = ("EndpointSettings", "check_is_text", "is_loopback_url", "plain_url")

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# Blanks and tabs may stand inside a header, not at its ends; a key has none.
_HEADER_VALUE = re.compile(r"(?:[!-~](?:[ -~\t]*[!-~])?)?")
_KEY = re.compile(r"[!-~]*")
_OURS = ("messages", "model", "prompt")
_POSITIVE = (
    *("connect_seconds", "first_seconds", "stall_seconds", "retry_seconds", "wait_seconds"),
    *("tries", "line_limit", "reply_limit"),
)


class EndpointSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings for one model behind an address.

    `key`: "" is none, and `None` is what the environment has, where `open_model` opens the model.
    `extra` is laid over the body of each request (`{"temperature": 0.2}`); `None` takes a field
    away (`{"stream_options": None}` for a server that does not know it).

    `grammar_field` is where the server takes a GBNF grammar: "grammar" (llama.cpp),
    "structured_outputs.grammar" or "guided_grammar" (vLLM, new and old); "": it cannot.
    `tokens_field` is where it takes the most tokens of a reply. `mode` says how tools and calls
    go over the wire, see `CallMode`; a plain completions API has `text` only. `context` is how
    many tokens the model takes in and writes together, where that is known.

    `key_header` is the header that takes the key as it is; "" is `Authorization: Bearer …`.

    `server` names the known server behind the address (`ollama`), and `key_hint` says where the
    key comes from: errors that a person can mend by either say so.

    Times are in seconds: to connect, to the first byte of the reply, and between two pieces of it.
    A request that got no answer, or "too busy", is tried `tries` times in all, `retry_seconds`
    apart, unless the server says how long to wait: up to `wait_seconds`, else the fault is raised
    at once. `line_limit` is in bytes, of a line and of an event; `reply_limit` in characters of
    text.
    """

    base_url: str = ""
    model: str = ""
    key: str | None = None
    headers: dict[str, str] = {}
    extra: dict[str, Any] = {}
    grammar_field: str = ""
    tokens_field: str = "max_tokens"
    mode: CallMode = "auto"
    context: int | None = None
    key_header: str = ""
    server: str = ""
    key_hint: str = ""
    connect_seconds: float = 10.0
    first_seconds: float = 120.0
    stall_seconds: float = 60.0
    retry_seconds: float = 0.5
    wait_seconds: float = 10.0
    tries: int = 2
    line_limit: int = 16 << 20
    reply_limit: int = 16 << 20

    def __post_init__(self) -> None:
        if self.base_url:
            _check_url(self.base_url)
        if not _KEY.fullmatch(self.key or ""):
            raise CallerError("the model's key has a blank, a line break or no ASCII; copy it anew")
        for name, value in self.headers.items():
            _check_header(name, value)
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise CallerError(f"{name} is {getattr(self, name)!r}; it must be more than 0")
        if self.context is not None and self.context < 1:
            raise CallerError(f"context is {self.context}; it is a number of tokens")
        _check_extra(self.extra)
        if self.mode not in CALL_MODES:
            modes = ", ".join(CALL_MODES)
            raise CallerError(f"no mode {self.mode!r:.40} of a model; choose from: {modes}")

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"EndpointSettings({said})"

    # Tracebacks and logs print these, so only names of headers and fields appear, never values.
    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [
            ("base_url", self.shown_url),
            ("model", self.model),
            ("key", "…" if self.key else self.key),
            ("headers", sorted(self.headers)),
            ("extra", sorted(self.extra)),
        ]

    @property
    def shown_url(self) -> str:
        """Return the address without its possible secrets."""
        return plain_url(self.base_url)

    def secrets(self) -> Iterator[str]:
        """Yield every text that no error may show."""
        yield self.key or ""
        yield from self.headers.values()
        address = urlsplit(self.base_url)
        yield address.netloc.rpartition("@")[0]
        yield address.password or ""
        yield address.query


def check_is_text(mode: CallMode) -> None:
    """Refuse a mode with native calls, for an API that has none."""
    if mode not in ("auto", "text"):
        raise CallerError(f"mode {mode}: a plain completions API has no tools; leave mode out")


def plain_url(url: str) -> str:
    """Return an address without login, query and fragment; "" if it is invalid."""
    try:
        address = urlsplit(url)
    except ValueError:
        return ""
    host = address.netloc.rpartition("@")[2]
    return urlunsplit((address.scheme, host, address.path, "", ""))


def is_loopback_url(url: str) -> bool:
    """Return whether the address is on this machine, by its name alone."""
    try:
        host = urlsplit(url).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_url(url: str) -> None:
    problem = _url_problem(url)
    if problem:
        shown = brief(plain_url(url))
        raise CallerError(f"no address of a model: {shown} {problem}; write http://host:port/v1")


def _url_problem(url: str) -> str:
    if not url.isascii() or not url.isprintable() or " " in url:
        return "has a blank, a line break or no ASCII"
    try:
        address = urlsplit(url)
    except ValueError:
        return "cannot be read"
    return _part_problem(address)


def _part_problem(address: SplitResult) -> str:
    if address.scheme not in ("http", "https"):
        return "begins with neither http:// nor https://"
    if not address.hostname:
        return "names no host"
    if address.fragment:
        return "has a #"
    try:
        _ = address.port
    except ValueError:
        return "has a port that is none"
    return ""


def _check_header(name: str, value: str) -> None:
    if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
        raise CallerError(f"the header {brief(name)} or its value is not one line of plain ASCII")


def _check_extra(extra: dict[str, Any]) -> None:
    for name in _OURS:
        if name in extra:
            raise CallerError(f"extra has {name!r}, which each request sets itself")
    try:
        msgspec.json.encode(extra)
    except (TypeError, ValueError, RecursionError) as error:
        raise CallerError(f"extra cannot be written as JSON: {error}") from error
