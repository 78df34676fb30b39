"""The HTTP client for one model's server: its headers, its proxies and its trust.

No redirect is followed, so that the key goes nowhere else. A server on this machine is asked
without the proxies of the environment; every other one with them.
"""

from __future__ import annotations

import asyncio
import ssl
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx2

from callblocks.model.brief import brief
from callblocks.model.errors import CallerError, ModelError
from callblocks.models.endpoint import EndpointSettings, is_loopback
from callblocks.models.endpoint_faults import Faults

__all__ = ("check_host", "full_url", "new_client", "unreachable", "words_of_error")


async def new_client(settings: EndpointSettings) -> httpx2.AsyncClient:
    """Return a client with any number of connections; only connecting has a time limit of
    its own.
    """
    near = is_loopback(settings.base_url)
    return httpx2.AsyncClient(
        # Identity encoding: a compressing proxy would buffer the stream, and pieces would arrive in
        # bursts.
        headers=_headers(settings),
        auth=_auth(settings),
        verify=await _trust(near and settings.base_url.startswith("http:")),
        timeout=httpx2.Timeout(None, connect=settings.connect_seconds),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        follow_redirects=False,
        trust_env=not near,
    )


async def _trust(plain: bool) -> ssl.SSLContext:
    """Return the TLS context; an empty one where there is no TLS, because loading all certificates
    is slow.
    """
    if plain:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return await asyncio.to_thread(httpx2.create_ssl_context)


def _headers(settings: EndpointSettings) -> dict[str, str]:
    ours = {
        "accept": "text/event-stream, application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": "callblocks",
    }
    if settings.key:
        ours["authorization"] = f"Bearer {settings.key}"
    return ours | {name.lower(): value for name, value in settings.headers.items()}


def _auth(settings: EndpointSettings) -> httpx2.BasicAuth | None:
    """Return the login of the address; a key has precedence."""
    address = urlsplit(settings.base_url)
    if settings.key or not (address.username or address.password):
        return None
    return httpx2.BasicAuth(unquote(address.username or ""), unquote(address.password or ""))


def full_url(settings: EndpointSettings, path: str) -> str:
    """Return the URL of a path of the API; the login is sent as a header instead."""
    address = urlsplit(settings.base_url)
    host = address.netloc.rpartition("@")[2]
    place = f"{address.path.rstrip('/')}/{path}"
    return urlunsplit((address.scheme, host, place, address.query, ""))


def check_host(settings: EndpointSettings) -> None:
    """Refuse an address that the client cannot ask."""
    try:
        httpx2.URL(full_url(settings, ""))
    except httpx2.InvalidURL:
        raise CallerError(f"no address of a model: {brief(settings.shown_url)}") from None


def unreachable(faults: Faults, error: Exception) -> ModelError:
    """Return the error for a failed connection, with what may not be running."""
    if isinstance(error, httpx2.TimeoutException):
        return faults.error("model_timeout", "gave no connection in time; check the address")
    said = f"cannot be reached: {words_of_error(faults, error)}"
    return faults.error("model_unreachable", f"{said}; {faults.starting()}")


def words_of_error(faults: Faults, error: Exception) -> str:
    """Return the network library's message without secrets, or else the kind of the error."""
    return faults.short(str(error)) or type(error).__name__
