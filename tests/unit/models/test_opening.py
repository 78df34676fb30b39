from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import CallerError, ModelError
from callblocks.models.model import CALL_MODES, CallMode
from callblocks.models.model_config import Overrides, open_named
from callblocks.models.open_model import MODEL_FORMS, is_form, locate, open_model
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoints import ChatEndpoint, CompletionEndpoint
from callblocks.models.openai.known_servers import SERVERS, server_at
from callblocks.models.scripted import ScriptedModel
from support.model_replies import reply_of
from support.model_server import ModelServer


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {key for server in SERVERS.values() for key in server.keys}
    for name in (*keys, "OLLAMA_HOST"):
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
        *("", "gpt-4", "scripted:", "smollm2:x", "llama:", "llama", "ollam:x", "llama.cp"),
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
        *("ftp://me:hunter2pw@h/v1#m", "ftp://h/v1?k=hunter2pw"),
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


@pytest.mark.parametrize("name", SERVERS)
def test_a_known_server_is_found_by_its_name(name: str) -> None:
    located = locate(f"{name}:org/some:8b")
    assert located.base_url == SERVERS[name].address
    assert (located.model, located.server) == ("org/some:8b", name)
    assert open_model(f"{name}:org/some:8b").name == "org/some:8b"
    assert f"{name}:MODEL" in MODEL_FORMS


def test_a_known_server_takes_the_most_tokens_in_its_own_field() -> None:
    assert locate("openai:gpt-x").tokens_field == "max_completion_tokens"
    assert locate("openai:gpt-x", EndpointSettings(tokens_field="n")).tokens_field == "n"
    assert locate("ollama:x").tokens_field == "max_tokens"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("  ", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000/v1"),
        (":9000", "http://127.0.0.1:9000/v1"),
        ("box", "http://box:11434/v1"),
        ("box:9000", "http://box:9000/v1"),
        ("http://box", "http://box:80/v1"),
        ("https://box", "https://box:443/v1"),
        ("https://box:9000/", "https://box:9000/v1"),
        ("http://box:9000/ollama/", "http://box:9000/ollama/v1"),
        ("::1", "http://[::1]:11434/v1"),
        ("[::]:9000", "http://[::1]:9000/v1"),
        ("[::1]:9000", "http://[::1]:9000/v1"),
        ('"box:9000"', "http://box:9000/v1"),
    ],
)
def test_ollama_is_where_its_own_variable_says(
    host: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert locate("ollama:x").base_url == url


@pytest.mark.parametrize("name", [name for name, one in SERVERS.items() if one.start])
def test_a_server_of_this_machine_is_known_by_its_port(name: str) -> None:
    assert server_at(SERVERS[name].address) is SERVERS[name]
    assert server_at(SERVERS[name].address.replace("127.0.0.1", "192.0.2.1")) is None


def test_no_two_servers_share_a_port() -> None:
    assert len({one.address for one in SERVERS.values()}) == len(SERVERS)


KEYS = {
    "ollama:x": ("CALLBLOCKS_MODEL_KEY", "OLLAMA_API_KEY"),
    "openai:x": ("OPENAI_API_KEY",),
    "openrouter:x": ("OPENROUTER_API_KEY",),
    "http://127.0.0.1:1/v1#x": ("CALLBLOCKS_MODEL_KEY", "OPENAI_API_KEY"),
    "https://model.test/v1#x": ("CALLBLOCKS_MODEL_KEY", "OPENAI_API_KEY"),
}


@pytest.mark.parametrize("spec", KEYS)
def test_each_server_gets_the_key_of_its_own_variables_alone(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = {key for server in SERVERS.values() for key in server.keys}
    for name in every:
        monkeypatch.setenv(name, f"key-of-{name}")
    for name in KEYS[spec]:
        located = locate(spec)
        assert located.key == f"key-of-{name}"
        assert f"that of {name}" in located.key_hint
        assert "key-of" not in located.key_hint
        monkeypatch.delenv(name)
    located = locate(spec)
    assert located.key == ""
    assert f"set {' or '.join(KEYS[spec])}" in located.key_hint


def test_what_is_wrong_with_a_key_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert "OPENAI_API_KEY is empty" in locate("openai:x").key_hint
    monkeypatch.setenv("OPENAI_API_KEY", "openai-1")
    hint = locate("http://model.test/v1#x").key_hint
    assert "OPENAI_API_KEY goes over https or to this machine only" in hint
    monkeypatch.setenv("CALLBLOCKS_MODEL_KEY", "")
    assert "CALLBLOCKS_MODEL_KEY is empty" in locate("https://model.test/v1#x").key_hint
    assert locate("openai:x", EndpointSettings(key="given")).key_hint == ""


def test_an_address_without_a_model_takes_the_only_one_there_is() -> None:
    with ModelServer(models=["one"]) as server:
        assert open_model(server.url).name == "one"
        assert open_model(f"{server.url}#").name == "one"
        assert open_model(f"completion:{server.url}").name == "one"
        assert open_model(server.url, EndpointSettings(model="own")).name == "own"
        assert len(server.listed) == 3


def test_a_known_server_without_a_model_takes_the_only_one_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ModelServer(models=["one"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        monkeypatch.setenv("CALLBLOCKS_MODEL_KEY", "key-1")
        assert open_model("ollama").name == "one"
        assert server.listed[0].headers["authorization"] == "Bearer key-1"


def test_a_server_with_several_models_has_them_listed() -> None:
    with ModelServer(models=["one", "two"]) as server:
        with pytest.raises(CallerError) as raised:
            open_model(server.url)
        assert f"has 2 models; name one as {server.url}#MODEL: one, two" in str(raised.value)


def test_a_server_without_a_model_is_told() -> None:
    with ModelServer(models=[]) as server, pytest.raises(CallerError, match="has no model"):
        open_model(server.url)


@pytest.mark.parametrize("login", ["me:hunter2pw@", ""])
def test_a_server_that_does_not_say_its_models_is_told_without_secrets(login: str) -> None:
    with ModelServer() as server:
        address = f"http://{login}127.0.0.1:{server.port}/v1?k=hunter2pw"
        with pytest.raises(ModelError) as raised:
            open_model(address)
    assert f"name one: {server.url}#MODEL" in str(raised.value)
    assert "hunter2pw" not in str(raised.value)


@given(st.text(max_size=30))
def test_any_text_is_a_model_or_refused_with_a_line(spec: str) -> None:
    if is_form(spec):
        return
    with pytest.raises(CallerError) as raised:
        open_model(spec)
    assert "write one of" in str(raised.value)


LIGHT = """
import sys
import callblocks.models.model, callblocks.models.open_model
heavy = {"httpx2", "asyncio", "ssl", "pydantic", "json"} & set(sys.modules)
assert not heavy, heavy
"""


def test_what_a_model_is_can_be_known_without_a_network_library() -> None:
    subprocess.run([sys.executable, "-c", LIGHT], check=True, timeout=120)


@pytest.mark.parametrize("host", ["http://localhost", "http://127.0.0.1", "https://[::1]"])
def test_this_machine_at_the_port_of_its_scheme_is_no_known_server(host: str) -> None:
    assert server_at(f"{host}/v1") is None


@pytest.mark.parametrize("mode", CALL_MODES)
def test_a_completions_api_has_no_mode_with_native_calls(mode: CallMode) -> None:
    settings = EndpointSettings(mode=mode)
    if mode in ("auto", "text"):
        assert open_model("completion:http://h/v1#x", settings).name == "x"
        return
    with pytest.raises(CallerError, match=f"mode {mode}: "):
        open_model("completion:http://h/v1#x", settings)
    with pytest.raises(CallerError, match=f"mode {mode}: "):
        open_named("completion:http://h/v1#x", overrides=Overrides(mode=mode))
