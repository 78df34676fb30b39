"""The settings of a server, and the checks before it starts.

    ServerSettings(port=8765, token=new_token())               every server has a token
    ServerSettings(port=8765, no_token=True)                   or none, on a loopback address

Without a token every user of this machine can start turns, and approve their calls.

`origins` are the pages of other servers that may talk to this one, such as http://localhost:5173.
`public_urls` are the addresses that a proxy has for this server, such as https://chat.example. They
can be reached from other machines, so they always need a token.
"""

from __future__ import annotations

import re
import secrets
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from callblocks.core.errors import CallerError, ToolError
from callblocks.core.text import brief
from callblocks.core.urls import host_of, is_loopback, read_host

__all__ = (
    "SDK_VERSIONS",
    "PublicUrl",
    "SdkClient",
    "SdkVersion",
    "ServerSettings",
    "host_of",
    "is_loopback",
    "name_of",
    "new_token",
    "read_network",
    "read_public_url",
)

# --- Loopback names, and the public URLs that a proxy has for this server ---
#
# `callblocks.core.urls` says which names are loopback.
#
#     https://chat.example  http://[2001:db8::1]:8080/           public URLs
#     https://example.com/chat                                   refused: it has a path
#     chat.example                                               refused: it has no scheme
#     ftp://chat.example                                         refused: another scheme

_PUBLIC = re.compile(r"(?i:(https?))://(\[[^\]\s]+\]|[^\[\]/?#@:\s]+)(?::([0-9]{1,5}))?/?")
_PORTS = {"http": 80, "https": 443}
_LAST_PORT = 65535


class PublicUrl(NamedTuple):
    """An address under which others reach the server; both as browsers write them.

    `name` is its host without brackets and port, `origin` what its pages send as `Origin`.
    """

    name: str
    origin: str


def read_public_url(url: str) -> PublicUrl | None:
    """Return what a public URL names; None for what is none, or has more than an origin.

    Without a path: the links of the pages begin at the root of their host.
    """
    found = _PUBLIC.fullmatch(url)
    name = name_of(found[2]) if found else ""
    if found is None or not name or int(found[3] or 0) > _LAST_PORT:
        return None
    scheme = found[1].lower()
    shown = f"[{name}]" if ":" in name else name
    port = int(found[3] or _PORTS[scheme])
    more = "" if port == _PORTS[scheme] else f":{port}"
    return PublicUrl(name, f"{scheme}://{shown}{more}")


def name_of(host: str) -> str:
    """Return a host in the spelling of `PublicUrl.name`; "" for what names none."""
    try:
        return read_host(host)
    except ToolError:
        return ""


# --- The settings, and the checks before a server starts ---

SdkVersion: TypeAlias = Literal[5, 6, 7]
SDK_VERSIONS: tuple[SdkVersion, ...] = (5, 6, 7)
"""The versions of the AI SDK whose streams can be written."""


class SdkClient(NamedTuple):
    """The version whose stream a client reads; `answers` where it can answer an approval."""

    version: SdkVersion
    answers: bool = True


_SHORTEST_TOKEN = 16
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:_]+")


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a server: its address, its access rules and its limits.

    `no_token` lets everybody on this machine in, where `token` is empty. Proxies in the networks of
    `proxies` say whose requests they pass on. `sdk_version` is the
    version of the stream for clients whose version is not known.
    `processes` do the processor work of requests, for at most `work_seconds` each; one client has
    one of them at a time, and `work_waiting` requests that wait for it. Of `max_connections`,
    `max_strangers` may be open on which no request had the token; such a connection is cut off
    after `stranger_timeout` seconds. `max_turns` is how many turns run at once, followed or not.
    `rate` is how many requests a second one client may make, `burst` how many at once. `quiet` is
    how many seconds a stream may be silent before a comment is sent. A client that takes nothing
    for `send_timeout` seconds, or gives nothing of its request for `read_timeout`, is dropped. At
    the end, turns that run have `grace` seconds.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str = ""
    no_token: bool = False
    origins: tuple[str, ...] = ()
    public_urls: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    sdk_version: SdkVersion = 6
    max_body: int = 20 * 1024 * 1024
    max_headers: int = 64 * 1024
    max_connections: int = 2000
    max_strangers: int = 500
    stranger_timeout: float = 10.0
    max_streams: int = 1000
    max_turns: int = 500
    processes: int = 2
    work_seconds: float = 20.0
    work_waiting: int = 8
    rate: float = 100.0
    burst: int = 500
    quiet: float = 15.0
    send_timeout: float = 60.0
    read_timeout: float = 30.0
    grace: float = 5.0

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach the server."""
        return is_loopback(self.host)

    @property
    def public(self) -> tuple[PublicUrl, ...]:
        """The hosts and origins of the public URLs."""
        return tuple(filter(None, map(read_public_url, self.public_urls)))

    def check(self) -> None:
        """Raise `CallerError` where the server must not start like this."""
        if not self.token and not self.is_loopback:
            raise CallerError(
                f"{brief(self.host)} can be reached from other machines: give a token,"
                " or bind to 127.0.0.1"
            )
        for url in self.public_urls:
            named = read_public_url(url)
            if named is None:
                raise CallerError(
                    f"{brief(url)} is no public URL; write it with http or https, a host, and no"
                    " path: https://chat.example"
                )
            if not self.token and not is_loopback(named.name):
                raise CallerError(
                    f"{brief(url)} can be reached from other machines: give a token, too; the"
                    " proxy may send it for those whom it knows"
                )
        if not self.token and not self.no_token:
            raise CallerError(
                "every user of this machine can reach a loopback address: give a token, or say"
                " that they all may use the server (no_token)"
            )
        if self.token and not _is_token(self.token):
            raise CallerError(
                f"a token has at least {_SHORTEST_TOKEN} characters, letters and digits and"
                " . _ ~ + / - only; `openssl rand -hex 32` makes one"
            )
        for network in self.proxies:
            if read_network(network) is None:
                raise CallerError(f"{brief(network)} is no network; write it as 10.0.0.0/8")
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                raise CallerError(
                    f"{brief(origin)} is no origin; write it without a path: http://localhost:5173"
                )
        if self.sdk_version not in SDK_VERSIONS:
            raise CallerError(f"the AI SDK has version 5, 6 or 7 here, not {self.sdk_version}")


def read_network(text: str) -> IPv4Network | IPv6Network | None:
    """Return a network, or one address; None for what is neither."""
    try:
        return ip_network(text)
    except ValueError:
        return None


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def _is_token(text: str) -> bool:
    return len(text) >= _SHORTEST_TOKEN and _TOKEN.fullmatch(text) is not None
