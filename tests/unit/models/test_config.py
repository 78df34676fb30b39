"""The config file: what it says of models, what is refused, and that no key stands in it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import CallerError, ModelError
from callblocks.models.model import context_of
from callblocks.models.model_config import (
    LARGEST,
    Config,
    ModelEntry,
    Overrides,
    config_path,
    open_named,
    parse_config,
    read_config,
)
from callblocks.models.open_model import MODEL_FORMS
from support.model_replies import reply_of
from support.model_server import ModelServer

ENTRY = '[models.m]\naddress = "http://127.0.0.1:1/v1#x"\n'
SECRET = "sk-hunter2pw0123456789"


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CALLBLOCKS_CONFIG", "CALLBLOCKS_MODEL_KEY", "OPENAI_API_KEY", "HOUSE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def asked(text: str, overrides: Overrides | None = None, **models: Any) -> Any:
    """The request that a server gets from the model `m` of a config, `URL` standing for it."""
    with ModelServer(extras=("top_k",), **models) as server:
        config = parse_config(text.replace("URL", server.url))
        opened = open_named("m", config, overrides or Overrides())
        _, error = reply_of(opened.model)
    assert error is None
    return server.requests[0]


def test_all_that_an_entry_says_reaches_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSE_KEY", "key-1")
    monkeypatch.setenv("HOUSE_TEAM", "harbour")
    request = asked("""
        [models.m]
        address = "URL"
        model = "large"
        key_env = "HOUSE_KEY"
        temperature = 0
        max_tokens = 77
        extra = {top_k = 5}
        headers = {X-Title = "tides"}
        headers_env = {x-team = "HOUSE_TEAM"}
    """)
    assert request.body["model"] == "large"
    assert request.body["temperature"] == 0
    assert request.body["max_tokens"] == 77
    assert request.body["top_k"] == 5
    assert request.headers["authorization"] == "Bearer key-1"
    assert (request.headers["x-title"], request.headers["x-team"]) == ("tides", "harbour")


def test_what_a_command_says_goes_before_the_file() -> None:
    text = '[models.m]\naddress = "URL#x"\ntemperature = 1\nmax_tokens = 5\n'
    body = asked(text, Overrides(temperature=0.5, max_tokens=9)).body
    assert (body["temperature"], body["max_tokens"]) == (0.5, 9)


def test_the_most_tokens_go_into_the_field_that_the_server_takes() -> None:
    text = '[models.m]\naddress = "URL#x"\nmax_tokens = 5\ntokens_field = "max_completion_tokens"\n'
    body = asked(text).body
    assert body["max_completion_tokens"] == 5
    assert "max_tokens" not in body


def test_an_entry_without_a_model_takes_the_only_one_of_its_server() -> None:
    assert asked('[models.m]\naddress = "URL"\n', models=["only"]).body["model"] == "only"


def test_what_only_a_session_obeys_is_kept_beside_the_model() -> None:
    config = parse_config(
        f'{ENTRY}dialect = "hermes"\nsystem = "Be brief."\ncontext = 4096\nmode = "text"\n'
    )
    opened = open_named("m", config)
    assert (opened.name, opened.model.name) == ("m", "x")
    assert (opened.dialect, opened.system, context_of(opened.model)) == (
        "hermes",
        "Be brief.",
        4096,
    )
    settings = config.models["m"].settings()
    assert (settings.mode, settings.context) == ("text", 4096)


def test_a_configured_name_goes_before_a_form(tmp_path: Path) -> None:
    config = parse_config('[models.scripted]\naddress = "http://127.0.0.1:1/v1#x"\n')
    assert open_named("scripted", config).model.name == "x"
    assert open_named("scripted").name == ""


def test_an_address_is_never_another_entry() -> None:
    config = parse_config(f'{ENTRY}[models.n]\naddress = "m"\n')
    with pytest.raises(CallerError, match=r"models.n: no model 'm'"):
        open_named("n", config)


def test_an_unknown_name_is_told_with_those_near_and_all_forms() -> None:
    config = parse_config(ENTRY.replace("models.m", "models.harbour"))
    with pytest.raises(CallerError) as raised:
        open_named("harbor", config)
    said = str(raised.value)
    assert "did you mean harbour?" in said
    assert all(form in said for form in MODEL_FORMS)


def test_a_variable_that_is_not_set_is_told_before_anything_is_asked() -> None:
    config = parse_config(f'{ENTRY}key_env = "HOUSE_KEY"\n', "c.toml")
    with pytest.raises(CallerError, match=r"c.toml: models.m: HOUSE_KEY is not set"):
        open_named("m", config)
    assert config.models["m"].missing() == ["HOUSE_KEY"]


@pytest.mark.parametrize(("key", "words"), [("", "HOUSE_KEY is empty"), ("k", "that of HOUSE_KEY")])
def test_a_refused_key_is_told_by_its_variable(
    key: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOUSE_KEY", key)
    with ModelServer() as server:
        server.answer(b'{"error": "no"}', status=401)
        text = f'[models.m]\naddress = "{server.url}#x"\nkey_env = "HOUSE_KEY"\n'
        _, error = reply_of(open_named("m", parse_config(text)).model)
    assert error is not None
    assert words in error.message


@pytest.mark.parametrize("option", ["mode", "temperature"])
def test_an_option_of_servers_is_refused_for_what_is_none(option: str) -> None:
    given = Overrides(mode="text") if option == "mode" else Overrides(temperature=1)
    with pytest.raises(CallerError, match=f"--{option} is for a model behind an address"):
        open_named("scripted", overrides=given)


BAD = {
    "no toml": ("default = ", "not TOML"),
    "unknown key of the file": ("defualt = 'x'\n", "did you mean default?"),
    "unknown key": (f"{ENTRY}temprature = 1\n", "models.m, 'temprature': is no key here; did you"),
    "far key": (f"{ENTRY}banana = 1\n", "these are: address, model"),
    "text for a number": (
        f"{ENTRY}temperature = 'hot'\n",
        "models.m, temperature: is not a number",
    ),
    "true for a number": (f"{ENTRY}max_tokens = true\n", "models.m, max_tokens: is not a whole"),
    "number for a text": (f"{ENTRY}system = 1\n", "models.m, system: is not a text"),
    "text for a table": (f"{ENTRY}extra = 'x'\n", "models.m, extra: is not a table"),
    "number in headers": (f"{ENTRY}headers = {{a = 1}}\n", "models.m, headers: is not a text"),
    "no mode": (f"{ENTRY}mode = 'loud'\n", "models.m, mode: is none of auto, text, native, mixed"),
    "no address": ("[models.m]\nmodel = 'x'\n", "models.m: has no address"),
    "no table": ("models = 3\n", "models: is not a table"),
    "no entry": ("[models]\nm = 'x'\n", "models.m: is not a table"),
    "a dot in a name": ("[models.llama.cpp]\naddress = 'x'\n", '[models."llama.cpp"]'),
    "a blank in a name": ("[models.'a b']\naddress = 'x'\n", "cannot name a model"),
    "no default": (f"default = 'n'\n{ENTRY}", "default: no model 'n'"),
    "default of a kind": ("default = 3\n", "default: is not a text"),
    "less than a token": (f"{ENTRY}max_tokens = 0\n", "models.m, max_tokens: 0 is less than 1"),
    "no context": (f"{ENTRY}context = -1\n", "models.m, context: -1 is less than 1"),
    "no context here": (
        '[models.m]\naddress = "smollm2"\ncontext = -5\n',
        "models.m, context: -5 is less than 1",
    ),
    "no native calls": (
        '[models.m]\naddress = "completion:http://h/v1#x"\nmode = "native"\n',
        "mode native: a plain completions API has no tools",
    ),
    "a field of ours": (f"{ENTRY}extra = {{messages = 1}}\n", "extra has 'messages'"),
    "a header of lines": (f'{ENTRY}headers = {{a = "b\\nc"}}\n', "the header 'a'"),
    "a bad address": ("[models.m]\naddress = 'http://h:x/v1#m'\n", "models.m: no address"),
    "scripts with a key": (
        "[models.m]\naddress='scripted'\nkey_env='X'\n",
        "models.m, key_env: is for",
    ),
    "no variable": (f"{ENTRY}key_env = 'a b'\n", "models.m, key_env: is no name of an environment"),
    "too deep": (f"{ENTRY}extra = {{a = {'[' * 3000}{']' * 3000}}}\n", "nested too deep"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_not_understood_is_one_line_that_names_the_place(case: str) -> None:
    text, words = BAD[case]
    with pytest.raises(CallerError) as raised:
        parse_config(text, "c.toml")
    said = str(raised.value)
    assert said.startswith("c.toml: ")
    assert words in said
    assert "\n" not in said


@pytest.mark.parametrize(
    "line",
    [
        f'key = "{SECRET}"',
        f'api_key = "{SECRET}"',
        f'API-KEY = "{SECRET}"',
        f'token = "{SECRET}"',
        f'password = "{SECRET}"',
        f'key_env = "{SECRET}"',
        'key_env = "hf_abcdefghijklmnopqrstuvwxyz"',
        f'headers = {{Authorization = "Bearer {SECRET}"}}',
        f'headers = {{x-api-key = "{SECRET}"}}',
        f'headers_env = {{x-team = "{SECRET}"}}',
    ],
)
def test_a_key_in_the_file_is_refused_and_not_shown(line: str) -> None:
    with pytest.raises(CallerError) as raised:
        parse_config(f"{ENTRY}{line}\n")
    assert "variable" in str(raised.value)
    assert "hunter2pw" not in str(raised.value)
    assert "hf_abc" not in str(raised.value)


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    with pytest.raises(CallerError, match="before the @") as raised:
        parse_config('[models.m]\naddress = "http://me:hunter2pw@h/v1#x"\n')
    assert "hunter2pw" not in str(raised.value)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=2),
)


@given(st.dictionaries(st.sampled_from([*ModelEntry.__struct_fields__, "key", "x"]), VALUES))
def test_any_entry_is_read_or_refused_with_a_line(entry: dict[str, Any]) -> None:
    import json

    lines = (f"{key} = {json.dumps(value)}" for key, value in entry.items())
    with suppress(CallerError):
        assert list(parse_config("\n".join(("[models.m]", *lines))).models) == ["m"]


def test_the_file_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert config_path() == tmp_path / ".config/callblocks/config.toml"
    assert read_config() == Config()
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert config_path() == tmp_path / ".config/callblocks/config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    path = tmp_path / "xdg/callblocks/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f'default = "m"\n{ENTRY}', "utf-8")
    assert read_config().default == "m"
    monkeypatch.setenv("CALLBLOCKS_CONFIG", str(tmp_path / "own.toml"))
    with pytest.raises(CallerError, match="CALLBLOCKS_CONFIG names it"):
        read_config()
    (tmp_path / "own.toml").write_bytes(b"\xef\xbb\xbf" + ENTRY.encode())
    assert list(read_config().models) == ["m"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff", "not UTF-8"), (b"#" * (LARGEST + 1), "larger than"), (None, "cannot be read")],
)
def test_a_file_that_cannot_be_read_is_told_with_its_name(
    content: bytes | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.toml"
    monkeypatch.setenv("CALLBLOCKS_CONFIG", os.fspath(path))
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(CallerError, match=words) as raised:
        read_config()
    assert str(path) in str(raised.value)


def test_a_server_that_is_not_there_is_told_with_the_place_in_the_file() -> None:
    config = parse_config('[models.m]\naddress = "http://127.0.0.1:9/v1"\n', "c.toml")
    with pytest.raises(ModelError, match=r"c.toml: models.m: .*cannot be reached"):
        open_named("m", config)


@pytest.mark.parametrize(
    ("address", "variable", "value"),
    [
        ("https://h/v1#x", "OPENAI_API_KEY", "sk abc "),
        ("openai:x", "OPENAI_API_KEY", "sk abc "),
        ("http://h/v1#x", "CALLBLOCKS_MODEL_KEY", "ä"),
        ("ollama:x", "OLLAMA_HOST", "http://h:port"),
    ],
)
def test_a_wrong_variable_is_told_when_its_model_is_opened_and_not_before(
    monkeypatch: pytest.MonkeyPatch, address: str, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    text = f'[models.m]\naddress = "{address}"\ntemperature = 1\nmax_tokens = 5\n'
    config = parse_config(f"{text}[models.other]\naddress = 'scripted'\n", "c.toml")
    assert open_named("other", config).model.name == "scripted"
    with pytest.raises(CallerError, match=r"c\.toml: models\.m: "):
        open_named("m", config)


def test_the_context_of_a_local_model_reaches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callblocks.models.llama.import_llama", object)
    weights = tmp_path / "small.gguf"
    weights.write_bytes(b"")
    entry = f'[models.m]\naddress = "llama:{weights}"\n'
    for text, context in ((entry, 4096), (f"{entry}context = 512\n", 512)):
        assert context_of(open_named("m", parse_config(text)).model) == context
    scripted = parse_config("[models.m]\naddress = 'scripted'\ncontext = 300\n")
    assert context_of(open_named("m", scripted).model) == 300
