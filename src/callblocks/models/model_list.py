"""The list of a server's models: `GET {base_url}/models`.

    models_at(EndpointSettings(base_url="http://127.0.0.1:11434/v1"))

Servers answer in three shapes: OpenAI's `{"data": [{"id": …}]}`, Ollama's `{"models": [{"name":
…}]}`, and a bare list of either.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import httpx2
import msgspec

from callblocks.models.endpoint import EndpointSettings
from callblocks.models.endpoint_faults import Faults
from callblocks.models.http_client import check_host, full_url, new_client, unreachable

__all__ = ("ask_models", "list_models", "models_at")

_SECONDS = 5.0
_LARGEST = 8 << 20
_NAMES = ("id", "name", "model")


async def ask_models(
    client: httpx2.AsyncClient, settings: EndpointSettings, seconds: float = _SECONDS
) -> tuple[str, ...]:
    """Ask over an existing client; raise `ModelError` where there is no list."""
    faults = Faults(settings)
    try:
        async with asyncio.timeout(seconds):
            # Streamed and bounded like a reply: the list may come from any server.
            request = client.build_request("GET", full_url(settings, "models"))
            response = await client.send(request, stream=True)
            try:
                body = await _body(response)
            finally:
                await response.aclose()
    except TimeoutError:
        raise faults.error("model_timeout", f"said nothing for {seconds:g} s") from None
    except (httpx2.HTTPError, OSError, UnicodeError) as error:
        raise unreachable(faults, error) from None
    if response.status_code != 200:
        raise faults.status(response.status_code, body, response.headers.get("location", ""))
    try:
        # A server may echo what it was sent: a name that contains a secret is dropped.
        names = _names(msgspec.json.decode(body))
        return tuple(name for name in names if faults.hide(name) == name)
    except (ValueError, RecursionError):
        raise faults.unreadable("no list of models", body.decode("utf-8", "replace")) from None


async def list_models(settings: EndpointSettings) -> tuple[str, ...]:
    """Ask over a connection of its own."""
    check_host(settings)
    try:
        client = await new_client(settings)
    except (ValueError, ImportError, httpx2.InvalidURL):
        raise Faults(settings).bad_proxy() from None
    async with client:
        return await ask_models(client, settings)


# A thread of its own runs the coroutine, because the caller's thread may already run an event loop.
def models_at(settings: EndpointSettings) -> tuple[str, ...]:
    """Ask, and block for the answer; also where an event loop runs in this thread."""
    with ThreadPoolExecutor(1) as worker:
        return worker.submit(lambda: asyncio.run(list_models(settings))).result()


async def _body(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > _LARGEST:
            break
    return bytes(body)


def _names(value: Any) -> tuple[str, ...]:
    """Return the names in a list of any known shape, each once; raise `ValueError` for any
    other.
    """
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        value = next((given[key] for key in ("data", "models") if key in given), None)
    if not isinstance(value, list):
        raise ValueError("no list")
    found = (_name(one) for one in cast("list[Any]", value))
    return tuple(dict.fromkeys(name for name in found if name))


def _name(entry: Any) -> str:
    if isinstance(entry, dict):
        given = cast("dict[str, Any]", entry)
        entry = next((given[key] for key in _NAMES if given.get(key)), "")
    # A name is shown on a screen and used in a command, so it must be printable.
    return entry if isinstance(entry, str) and entry.isprintable() else ""
