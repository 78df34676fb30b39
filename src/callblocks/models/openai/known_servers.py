"""Known servers of models, named before a colon.

    ollama:qwen3     the model qwen3 of the Ollama on this machine, or where OLLAMA_HOST says
    llama.cpp        the one model of a llama-server on its usual port
    openai:gpt-5     OpenAI's own, with the key in OPENAI_API_KEY

A further server needs only a row of the table.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

__all__ = ("ANY_KEY", "SERVERS", "GrammarForm", "KnownServer", "server_at", "server_of_owner")

# How a server holds a reply to a form: a GBNF grammar, a structural tag of xgrammar, a JSON Schema.
GrammarForm: TypeAlias = Literal["", "gbnf", "structural_tag", "json_schema"]

# The variable with the key of any server; it is sent wherever the address leads.
ANY_KEY = "CALLBLOCKS_MODEL_KEY"


class KnownServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server by its name.

    `keys` are the variables that may have its key, the first that is set wins. `start` is the
    command that starts it, `get` the one that fetches a model, with NAME for the model's name.
    `tokens_field` is the request field for the most tokens of a reply, `key_header` the header that
    takes the key as it is, and `headers` are sent with each request. `api` names what it speaks.
    `grammar_field` is the field for a GBNF grammar, and `grammar_form` the other form in which the
    server holds replies. `owner` is who owns its models, by its own list of them.
    """

    name: str
    about: str
    address: str
    keys: tuple[str, ...]
    start: str = ""
    get: str = ""
    tokens_field: str = "max_tokens"
    grammar_field: str = ""
    grammar_form: GrammarForm = ""
    owner: str = ""
    api: str = "an OpenAI-compatible API"
    key_header: str = ""
    headers: dict[str, str] = {}

    def base_url(self, environment: Mapping[str, str]) -> str:
        """Return the address of the API; for Ollama as its own variable says."""
        host = environment.get("OLLAMA_HOST", "") if self.name == "ollama" else ""
        return _ollama_url(host) if host.strip(" \"'") else self.address


SERVERS: dict[str, KnownServer] = {
    one.name: one
    for one in (
        KnownServer(
            name="ollama",
            about="Ollama",
            address="http://127.0.0.1:11434/v1",
            keys=(ANY_KEY, "OLLAMA_API_KEY"),
            start="ollama serve",
            get="ollama pull NAME",
            grammar_form="json_schema",
            owner="library",
        ),
        KnownServer(
            name="llama.cpp",
            about="llama-server of llama.cpp",
            address="http://127.0.0.1:8080/v1",
            keys=(ANY_KEY, "LLAMA_API_KEY"),
            start="llama-server -m FILE.gguf --jinja",
            grammar_field="grammar",
            owner="llamacpp",
        ),
        KnownServer(
            name="lmstudio",
            about="LM Studio",
            address="http://127.0.0.1:1234/v1",
            keys=(ANY_KEY,),
            start="lms server start",
            grammar_form="json_schema",
            owner="organization_owner",
        ),
        KnownServer(
            name="vllm",
            about="vLLM",
            address="http://127.0.0.1:8000/v1",
            keys=(ANY_KEY, "VLLM_API_KEY"),
            start="vllm serve NAME",
            grammar_field="structured_outputs.grammar",
            owner="vllm",
        ),
        KnownServer(
            name="sglang",
            about="SGLang",
            address="http://127.0.0.1:30000/v1",
            keys=(ANY_KEY,),
            start="python -m sglang.launch_server --model-path NAME",
            grammar_form="structural_tag",
            owner="sglang",
        ),
        KnownServer(
            name="openai",
            about="OpenAI",
            address="https://api.openai.com/v1",
            keys=("OPENAI_API_KEY",),
            # Its newer models refuse the older name.
            tokens_field="max_completion_tokens",
        ),
        KnownServer(
            name="openrouter",
            about="OpenRouter",
            address="https://openrouter.ai/api/v1",
            keys=("OPENROUTER_API_KEY",),
        ),
        KnownServer(
            name="anthropic",
            about="Anthropic",
            address="https://api.anthropic.com/v1",
            keys=("ANTHROPIC_API_KEY",),
            api="Anthropic's API",
            key_header="x-api-key",
            headers={"anthropic-version": "2023-06-01"},
        ),
    )
}


# Only a guess by port, used for hints in messages and for nothing else.
def server_at(base_url: str) -> KnownServer | None:
    """Return the server that usually listens at this port of this machine."""
    from callblocks.models.openai.endpoint import is_loopback_url

    if not is_loopback_url(base_url):
        return None
    # A URL without a port has the default one, at which none of these listens.
    port = urlsplit(base_url).port
    local = (one for one in SERVERS.values() if is_loopback_url(one.address))
    return next((one for one in local if urlsplit(one.address).port == port), None)


def server_of_owner(owner: str) -> KnownServer | None:
    """Return the server whose list says that it owns its models."""
    return next((one for one in SERVERS.values() if owner and one.owner == owner), None)


def _ollama_url(host: str) -> str:
    """Return the address of the API by OLLAMA_HOST, which may leave out scheme, host or port.

    Ollama reads the same variable as the address to listen at: a wildcard address is then asked at
    loopback.
    """
    # The rules are Ollama's own, so that one variable means the same to both programs.
    scheme, mark, place = host.strip(" \"'").rpartition("://")
    place, _, path = place.partition("/")
    name, port = _host_and_port(place)
    if not port:
        port = {"http": ":80", "https": ":443"}.get(scheme, ":11434") if mark else ":11434"
    if name in ("", "0.0.0.0"):
        name = "127.0.0.1"
    elif name == "[::]":
        name = "[::1]"
    path = f"/{path.strip('/')}" if path.strip("/") else ""
    return f"{scheme or 'http'}://{name}{port}{path}/v1"


def _host_and_port(place: str) -> tuple[str, str]:
    """Return `("host", ":port")`; put an IPv6 address into brackets."""
    try:
        return f"[{ipaddress.IPv6Address(place.strip('[]'))}]", ""
    except ValueError:
        name, mark, port = place.rpartition(":")
    return (name, f":{port}") if mark else (place, "")
