"""Which pages and which names a gateway answers to.

A gateway without keys is open to every program of this machine, and to no page of the web: a page
whose name was made to lead here (DNS rebinding), and one of another origin, get nothing. A program
sends no `Origin`. With keys a page needs one, too; but only the origins that the config names get
the headers with which their browser shows them an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from callblocks.core.hosts import host_of, is_loopback
from callblocks.gateway.config import GatewayConfig
from callblocks.gateway.exchange import GatewayFault

__all__ = ("allowed_origin", "check_host", "preflight_headers", "shown_headers")

_METHODS = b"GET, HEAD, POST, OPTIONS"


def check_host(headers: Mapping[str, str], config: GatewayConfig, *, is_open: bool) -> None:
    """Refuse a request that was sent to another name than this machine's, where no key is asked."""
    name = host_of(headers.get("host", ""))
    if name is None:
        raise GatewayFault("invalid_request", "the Host header is missing, or names no host")
    if is_open and not is_loopback(name) and name not in config.hosts:
        words = (
            f"{name} is not a name of this machine; ask for localhost or 127.0.0.1, or add the "
            "name to `hosts` in the gateway's file"
        )
        raise GatewayFault("permission", words, code="foreign_host")


def allowed_origin(headers: Mapping[str, str], config: GatewayConfig) -> str:
    """Return the foreign origin that may ask; "" for our own, and where no page asks."""
    given = headers.get("origin", "")
    if not given:
        if headers.get("sec-fetch-site") == "cross-site":
            raise _foreign("a page of another site")
        return ""
    if given in config.origins:
        return given
    try:
        parts = urlsplit(given)
    except ValueError:
        raise _foreign("a page of an origin that cannot be read") from None
    is_own = parts.netloc.lower() == headers.get("host", "").lower()
    if is_own and parts.scheme in ("http", "https"):
        return ""
    raise _foreign(given[:200])


def preflight_headers(origin: str, headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return the answer to a browser that asks whether a page may ask."""
    wanted = headers.get("access-control-request-headers", "")
    return [
        *shown_headers(origin),
        (b"access-control-allow-methods", _METHODS),
        # The SDKs send many headers of their own; none of them acts here.
        (b"access-control-allow-headers", wanted.encode("latin-1", "replace")),
        (b"access-control-max-age", b"600"),
    ]


def shown_headers(origin: str) -> list[tuple[bytes, bytes]]:
    """Return the headers that let a page of this origin read an answer."""
    if not origin:
        return []
    return [
        (b"access-control-allow-origin", origin.encode("latin-1", "replace")),
        (b"access-control-expose-headers", b"x-request-id, retry-after"),
        (b"vary", b"origin"),
    ]


def _foreign(who: str) -> GatewayFault:
    words = f"{who} may not ask here; add its origin to `origins` in the gateway's file"
    return GatewayFault("permission", words, code="foreign_origin")
