from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from callblocks.model.errors import CallerError, ModelError
from callblocks.models.chat_endpoint import ChatEndpoint
from callblocks.models.completion_endpoint import CompletionEndpoint
from callblocks.models.endpoint import EndpointSettings
from callblocks.models.opening import MODEL_FORMS, open_model
from callblocks.models.scripted import ScriptedModel
from support.model_replies import reply_of
from support.model_server import ModelServer


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CALLBLOCKS_MODEL_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def sent_key(spec: str = "", settings: EndpointSettings | None = None) -> str | None:
    """The authorization that a server gets."""
    with ModelServer() as server:
        _, error = reply_of(open_model(f"{spec}{server.url}#test", settings))
    assert error is None
    return server.requests[0].headers.get("authorization")


def test_an_address_opens_a_chat_endpoint() -> None:
    model = open_model("https://model.test/v1#gpt-x")
    assert isinstance(model, ChatEndpoint)
    assert model.name == "gpt-x"


def test_a_model_s_name_may_have_any_sign() -> None:
    assert open_model("http://h/v1#org/model:8b#x").name == "org/model:8b#x"


@pytest.mark.parametrize(
    "spec", ["completion:http://h/v1#base", "completion:plain:http://h/v1#base"]
)
def test_a_completion_endpoint_may_have_a_format(spec: str) -> None:
    model = open_model(spec)
    assert isinstance(model, CompletionEndpoint)
    assert ("plain" in spec) == ("'plain'" in repr(model))
    assert model.name == "base"


def test_the_model_may_stand_in_the_settings() -> None:
    assert open_model("http://h/v1", EndpointSettings(model="mine")).name == "mine"


def test_scripts_open(tmp_path: Path) -> None:
    (tmp_path / "hello.md").write_text("# Hello\n\nHi there.\n")
    assert isinstance(open_model("scripted"), ScriptedModel)
    assert isinstance(open_model(f"scripted:{tmp_path}"), ScriptedModel)


def test_weights_that_are_not_there_are_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as raised:
        open_model(f"llama:{tmp_path}/none.gguf")
    assert raised.value.code == "model_missing"


@pytest.mark.parametrize(
    "spec",
    [
        *("", "gpt-4", "scripted:", "smollm2:x", "llama:", "llama", "http://h/v1", "http://h/v1#"),
        *("completion:", "completion:plain:", "completion:model", "ftp://h/v1#m", "completion"),
    ],
)
def test_a_text_of_no_form_is_refused_with_all_forms(spec: str) -> None:
    with pytest.raises(CallerError) as raised:
        open_model(spec)
    for form in MODEL_FORMS:
        assert form in str(raised.value)


@pytest.mark.parametrize("spec", ["http:///v1#m", "http://[::1#m", "http://h:x/v1#m"])
def test_an_address_that_is_none_is_refused(spec: str) -> None:
    with pytest.raises(CallerError, match="no address"):
        open_model(spec)


@pytest.mark.parametrize(
    "spec",
    [
        *("ftp://me:hunter2pw@h/v1#m", "http://me:hunter2pw@h/v1", "http://h/v1?k=hunter2pw"),
        *("completion:x:ftp://me:hunter2pw@h", "http://me:hunter2pw@h:x/v1#m"),
    ],
)
def test_a_refused_text_does_not_show_its_secrets(spec: str) -> None:
    with pytest.raises(CallerError) as raised:
        open_model(spec)
    assert "hunter2pw" not in str(raised.value)


def test_the_key_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "openai-1")
    assert sent_key() == "Bearer openai-1"
    monkeypatch.setenv("CALLBLOCKS_MODEL_KEY", "ours-1")
    assert sent_key() == "Bearer ours-1"
    assert sent_key("completion:") == "Bearer ours-1"
    monkeypatch.setenv("CALLBLOCKS_MODEL_KEY", "")
    assert sent_key() is None


def test_the_key_of_the_settings_goes_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBLOCKS_MODEL_KEY", "ours-1")
    assert sent_key(settings=EndpointSettings(key="given-1")) == "Bearer given-1"
    assert sent_key(settings=EndpointSettings(key="")) is None
    assert sent_key(settings=EndpointSettings()) == "Bearer ours-1"


def test_a_key_of_another_service_is_not_sent_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "openai-1")
    assert "key=''" in repr(open_model("http://model.test/v1#m"))
    assert "key='…'" in repr(open_model("https://model.test/v1#m"))


LIGHT = """
import sys
import callblocks.models.model, callblocks.models.opening, callblocks.models.codes
heavy = {"httpx2", "asyncio", "ssl", "pydantic", "json"} & set(sys.modules)
assert not heavy, heavy
"""


def test_what_a_model_is_can_be_known_without_a_network_library() -> None:
    subprocess.run([sys.executable, "-c", LIGHT], check=True, timeout=60)
