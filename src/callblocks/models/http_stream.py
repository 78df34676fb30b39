"""One POST to a model's server, and its reply as bytes, piece by piece, as they arrive.

    async with stream.post("chat/completions", body) as arriving:
        while piece := await arriving.piece(): ...

Connections are kept and reused. Leaving the block ends the request: the server sees the connection
close.

Retrying. A request is repeated only while no byte of a reply was read: the model has then produced
nothing that a session could have shown or acted on. A fault in the middle of a reply is never
repeated, because its first half is already on the screen and its calls may have run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import httpx2
import msgspec

from callblocks.model.errors import CallerError, ModelError
from callblocks.models.endpoint import EndpointSettings
from callblocks.models.endpoint_faults import Faults, is_model_unknown
from callblocks.models.http_client import (
    check_host,
    full_url,
    new_client,
    unreachable,
    words_of_error,
)
from callblocks.models.model_list import ask_models
from callblocks.models.retrying import may_pass, wait_before

__all__ = ("Arriving", "HttpStream")

_ERROR_BODY = 1 << 16
_DRAIN_SECONDS = 0.5
_LIST_SECONDS = 3.0


class Arriving:
    """A reply that arrives. `kind` is the declared media type."""

    def __init__(
        self, response: httpx2.Response, pieces: AsyncGenerator[bytes, None], stream: HttpStream
    ) -> None:
        self.kind = response.headers.get("content-type", "")
        self._pieces = pieces
        self._stream = stream
        self._seconds = stream.settings.first_seconds

    async def piece(self) -> bytes:
        """Return the next bytes, at least one; b"" at the end."""
        piece = b""
        faults = self._stream.faults
        try:
            while not piece:
                async with asyncio.timeout(self._seconds):
                    piece = await anext(self._pieces)
        except StopAsyncIteration:
            return b""
        except TimeoutError:
            raise _timeout(faults, self._seconds) from None
        except httpx2.HTTPError as error:
            raise _broke(faults, error) from None
        # The first byte may take minutes (prompt processing); after it, a pause means a stall.
        self._seconds = self._stream.settings.stall_seconds
        return piece

    async def finish(self) -> None:
        """Wait a moment for the end, so that the connection can be reused."""
        with suppress(TimeoutError, httpx2.HTTPError, StopAsyncIteration):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while True:
                    await anext(self._pieces)


class HttpStream:
    """The connections to one model's server. They belong to the event loop that first asks."""

    def __init__(self, settings: EndpointSettings) -> None:
        if not settings.base_url or not settings.model:
            raise CallerError("an endpoint needs a base_url and a model")
        check_host(settings)
        self.settings = settings
        self.faults = Faults(settings)
        self._client: httpx2.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def post(self, path: str, body: dict[str, Any]) -> AsyncGenerator[Arriving, None]:
        """Send a request; raise `ModelError` unless the server answers with 200."""
        response = await self._answer(path, _encoded(body))
        pieces = response.aiter_bytes()
        try:
            yield Arriving(response, pieces, self)
        finally:
            await pieces.aclose()
            await response.aclose()

    async def close(self) -> None:
        """Close every connection."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _answer(self, path: str, content: bytes) -> httpx2.Response:
        """Return the first answer that is a reply. No byte of it was read, so retrying is safe."""
        # Counts down, so that `left` is 0 in the last try, whose error is raised.
        for left in reversed(range(self.settings.tries)):
            wait: float | None = self.settings.retry_seconds
            try:
                response = await self._send(path, content)
                if response.status_code == 200:
                    return response
                wait = wait_before(response.headers.get("retry-after"), wait)
                raise await self._refusal(response)
            except ModelError as error:
                if not left or wait is None or not may_pass(error):
                    raise
            await asyncio.sleep(wait)
        raise AssertionError("tries is more than 0")

    async def _send(self, path: str, content: bytes) -> httpx2.Response:
        seconds = self.settings.first_seconds
        try:
            async with asyncio.timeout(seconds):
                client = await self._connected()
                request = client.build_request(
                    "POST", full_url(self.settings, path), content=content
                )
                return await client.send(request, stream=True)
        except TimeoutError:
            raise _timeout(self.faults, seconds) from None
        except (httpx2.HTTPError, OSError, UnicodeError) as error:
            # The library's message, cause and request may contain the key, so none of them is
            # chained.
            raise unreachable(self.faults, error) from None

    async def _refusal(self, response: httpx2.Response) -> ModelError:
        body = bytearray()
        pieces = response.aiter_bytes()
        try:
            with suppress(TimeoutError, httpx2.HTTPError):
                # The body of an error is read for its message only: bounded in size and time, and
                # optional.
                async with asyncio.timeout(self.settings.stall_seconds), aclosing(pieces):
                    async for piece in pieces:
                        body += piece
                        if len(body) > _ERROR_BODY:
                            break
        finally:
            await response.aclose()
        status, said = response.status_code, bytes(body[:_ERROR_BODY])
        offered = None
        if is_model_unknown(status, said):
            offered = await self._offered()
        return self.faults.status(status, said, response.headers.get("location", ""), offered)

    async def _offered(self) -> tuple[str, ...] | None:
        """Return the server's models, for a message; `None` where it does not answer in time."""
        try:
            return await ask_models(await self._connected(), self.settings, _LIST_SECONDS)
        except ModelError:
            return None

    async def _connected(self) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            client = await self._new_client()
            if self._client is None or self._loop is not loop:
                self._client, self._loop = client, loop
        return self._client

    async def _new_client(self) -> httpx2.AsyncClient:
        try:
            return await new_client(self.settings)
        except (ValueError, ImportError, httpx2.InvalidURL):
            raise self.faults.bad_proxy() from None


def _encoded(body: dict[str, Any]) -> bytes:
    """Return the body as JSON; a lone surrogate, which JSON cannot encode, becomes a
    question mark.
    """
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        import json

        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _timeout(faults: Faults, seconds: float) -> ModelError:
    return faults.error("model_timeout", f"said nothing for {seconds:g} s; is the model running?")


def _broke(faults: Faults, error: httpx2.HTTPError) -> ModelError:
    if isinstance(error, httpx2.DecodingError):
        return faults.unreadable("bytes that are not compressed as it says")
    words = words_of_error(faults, error)
    return faults.error("model_unreachable", f"broke off in the middle of the reply: {words}")
