"""The file of a gateway: what it says, what is refused, and the place that an error names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from callblocks.core.errors import CallerError
from callblocks.gateway.config import (
    GatewayConfig,
    config_of_models,
    gateway_path,
    parse_gateway,
    read_gateway,
)

WHOLE = """
default = "small"
origins = ["http://localhost:5173"]
hosts = ["llm.example"]

[models.small]
address = "ollama:qwen3"
dialect = "hermes"
system = "Be short."
aliases = ["gpt-5"]
retries = 3
holds_prose = true
temperature = 0.2

[models.large]
key_env = "HOUSE_KEY"
context = 32768
upstreams = [
    {address = "http://10.0.0.5:8000/v1#large", weight = 3},
    {address = "http://10.0.0.6:8000/v1#large", key_env = "OTHER_KEY"},
]

[clients.ci]
key_env = "CI_KEY"
models = ["small"]
requests_per_minute = 60
tokens_per_day = 100000
streams = 4

[firewall]
policy = "policy.toml"

[[rewrite]]
tool = "bash"
argument = "command"
pattern = "^rm "
with = "trash "

[timeline]
store = "state"

[rollouts]
file = "/var/rollouts.jsonl"
"""


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CALLBLOCKS_CONFIG", "CALLBLOCKS_GATEWAY", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_a_whole_file_is_read() -> None:
    config = parse_gateway(WHOLE, "/etc/gateway.toml")
    small, large = config.models["small"], config.models["large"]
    assert (small.dialect, small.settings.system, small.aliases) == (
        "hermes",
        "Be short.",
        ("gpt-5",),
    )
    assert (small.settings.retries, small.settings.holds_prose) == (3, True)
    assert [one.weight for one in large.upstreams] == [3.0, 1.0]
    assert [one.entry.key_env for one in large.upstreams] == ["HOUSE_KEY", "OTHER_KEY"]
    assert {one.entry.context for one in large.upstreams} == {32768}
    assert config.clients["ci"].tokens_per_day == 100_000
    assert config.policy == "/etc/policy.toml"
    assert config.rewrites[0].replacement == "trash "
    assert (config.store, config.rollouts) == ("/etc/state", "/var/rollouts.jsonl")


@pytest.mark.parametrize(
    ("name", "model"),
    [("small", "small"), ("large", "large"), ("gpt-5", "small"), ("whatever", "small")],
)
def test_a_name_leads_to_a_model(name: str, model: str) -> None:
    found = parse_gateway(WHOLE).find(name)
    assert found is not None
    assert found.name == model


def test_without_a_default_an_unknown_name_leads_nowhere() -> None:
    config = parse_gateway(WHOLE.replace('default = "small"', ""))
    assert config.find("whatever") is None


def test_with_one_model_every_name_leads_to_it() -> None:
    config = parse_gateway('[models.m]\naddress = "scripted"\n')
    assert config.find("claude-sonnet-4-5") is config.models["m"]


M = '[models.m]\naddress = "scripted"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[models.m]\nadress = 'x'", "models.m, 'adress': is no key here; did you mean address?"),
        ("[models.m]\naddress = 'x'\nretrys = 1", "did you mean retries?"),
        ("[models]\nm = 1", "models.m: is not a table"),
        ("models = 1", "models: is not a table"),
        ("connections = '5'", "connections: is not a whole number"),
        ("connections = true", "connections: is not a whole number"),
        ("connections = 0", "connections: is no number from 1 to 1000000"),
        (f"{M}retries = 'x'", "models.m, retries: Expected `int`"),
        (f"{M}dialect = 'hermez'", "models.m, dialect: no dialect 'hermez'; did you mean hermes"),
        (f"{M}aliases = [1]", "models.m, aliases: is not a list of texts"),
        (f"{M}aliases = ['m']", "models.m, aliases: 'm' is also the name of a model"),
        ("[models.m]\nupstreams = []", "models.m, upstreams: is no list"),
        ("[models.m]\nupstreams = [1]", "models.m, upstreams 1: is not a table"),
        (
            "[models.m]\nupstreams = [{address = 'scripted', weight = 0}]",
            "models.m, upstreams 1, weight: is no number above 0",
        ),
        (
            "[models.m]\nupstreams = [{adress = 'x'}]",
            "models.m, upstreams 1, 'adress': is no key here",
        ),
        (
            "[models.m]\nupstreams = [{address = 'scripted', dialect = 'hermes'}]",
            "models.m, upstreams, dialect: belongs to the model",
        ),
        ("default = 'x'", "default: no model 'x'"),
        ("[clients.a]\nkey = 'sk-1'", "clients.a, key: no key stands in this file"),
        ("[clients.a]\nmodels = []", "clients.a: has no key; name the variable"),
        ("[clients.a]\nkey_env = 'a b'", "clients.a, key_env: is no name of an environment"),
        ("[clients.a]\nkey_env = 'A'\nstreams = 0", "clients.a, streams: 0 is less than 1"),
        ("[clients.a]\nkey_env = 'A'\nstream = 1", "clients.a, 'stream': is no key here"),
        ("[clients]\na = 1", "clients.a: is not a table"),
        (f"{M}[clients.a]\nkey_env = 'A'\nmodels = ['x']", "clients.a, models: 'x' is no model"),
        ("[clients.a]\nkey_env = 'A'\n[clients.b]\nkey_env = 'A'", "is also the one of clients.a"),
        ("[firewall]\nfile = 'x'", "firewall, 'file': is no key here"),
        ("[firewall]", "firewall: has no policy"),
        ("[timeline]\nstore = 1", "timeline, store: is not a text"),
        ("origins = ['x']", "origins: 'x' is no origin"),
        ("rewrite = [1]", "rewrite 1: is not a table"),
        ("[[rewrite]]\ntool = 'x'", "rewrite 1"),
        (
            "[[rewrite]]\ntool = 'x'\nargument = 'y'\npattern = '('",
            "pattern '('",
        ),
        ("nothing", "not TOML"),
    ],
)
def test_an_error_names_the_place(text: str, words: str) -> None:
    with pytest.raises(CallerError) as caught:
        parse_gateway(text, "/etc/gateway.toml")
    assert str(caught.value).startswith("/etc/gateway.toml: ")
    assert words in str(caught.value)


def test_the_file_stands_beside_the_config_file(tmp_path: Path) -> None:
    assert gateway_path() == tmp_path / ".config/callblocks/gateway.toml"


def test_a_variable_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own.toml"
    monkeypatch.setenv("CALLBLOCKS_GATEWAY", os.fspath(path))
    with pytest.raises(CallerError, match="CALLBLOCKS_GATEWAY names it"):
        read_gateway()
    path.write_text(M)
    assert list(read_gateway().models) == ["m"]


def test_an_option_names_a_file_that_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="--config names it"):
        read_gateway(tmp_path / "none.toml")


def test_without_a_file_the_models_of_the_config_file_are_offered(tmp_path: Path) -> None:
    folder = tmp_path / ".config/callblocks"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        'default = "scripted"\n[models.a]\naddress = "ollama:x"\nsystem = "S"\n'
    )
    config = read_gateway()
    assert list(config.models) == ["a", "scripted"]
    assert config.default == "scripted"
    assert config.models["a"].settings.system == "S"


def test_without_any_file_there_is_no_model() -> None:
    assert read_gateway() == GatewayConfig()


def test_models_of_a_command_replace_those_of_the_file() -> None:
    config = config_of_models(["large", "ollama:qwen3", "scripted"], parse_gateway(WHOLE))
    assert list(config.models) == ["large", "ollama:qwen3", "scripted"]
    assert config.default == "large"
    found = config.find("qwen3")
    assert found is not None
    assert found.name == "ollama:qwen3"
    with pytest.raises(CallerError, match="no model 'nothing'"):
        config_of_models(["nothing"], parse_gateway(WHOLE))
