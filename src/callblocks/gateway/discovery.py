"""Model servers that run on this machine, found at their usual ports.

    discover()      [Found("ollama", "Ollama", "http://127.0.0.1:11434/v1", ("qwen3",))]

Every known server of this machine is asked for its models at once, with a second for the answer.
The ports are those of `known_servers`; Ollama's is that of OLLAMA_HOST where it is set, and only if
that is this machine.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import msgspec

from callblocks.core.errors import ModelError
from callblocks.gateway.config import GatewayConfig, config_of_models
from callblocks.models.open_model import locate
from callblocks.models.openai.endpoint import EndpointSettings, is_loopback_url
from callblocks.models.openai.http_client import list_models
from callblocks.models.openai.known_servers import SERVERS

__all__ = ("Found", "config_of_found", "discover", "places")

_SECONDS = 1.0
# Names of models that only make embeddings: nobody can talk with them.
_NO_CHAT = ("embed", "bge-", "rerank", "minilm", "whisper")


class Found(msgspec.Struct, frozen=True):
    """A server that answered, and its models."""

    server: str
    about: str
    url: str
    models: tuple[str, ...]


def places(environment: Mapping[str, str] = os.environ) -> dict[str, EndpointSettings]:
    """Return the servers of this machine by their names, with the address of each."""
    located = {name: locate(f"{name}:", environment=environment) for name in SERVERS}
    return {name: one for name, one in located.items() if is_loopback_url(one.base_url)}


def discover(environment: Mapping[str, str] = os.environ) -> list[Found]:
    """Ask all of them, and block until each has answered or a second is over."""
    asked = places(environment)
    with ThreadPoolExecutor(1) as worker:
        return worker.submit(lambda: asyncio.run(_ask_all(asked))).result()


def config_of_found(found: Iterable[Found], config: GatewayConfig) -> GatewayConfig:
    """Return the config with every model that was found; the first one is the default.

    Models for embeddings are left out.
    """
    specs = [
        f"{one.server}:{model}"
        for one in found
        for model in one.models
        if not any(word in model.lower() for word in _NO_CHAT)
    ]
    return config_of_models(specs, config)


async def _ask_all(asked: Mapping[str, EndpointSettings]) -> list[Found]:
    answers = await asyncio.gather(*(_ask(name, one) for name, one in asked.items()))
    return [one for one in answers if one is not None]


async def _ask(name: str, settings: EndpointSettings) -> Found | None:
    try:
        async with asyncio.timeout(_SECONDS):
            models = await list_models(settings)
    except (ModelError, TimeoutError):
        return None
    return Found(name, SERVERS[name].about, settings.shown_url, models)
