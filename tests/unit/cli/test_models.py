"""`callblocks models`, and models of the config file in every command that opens one."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from callblocks.cli.chat.chat_setup import ChatModels, ChatSetup
from callblocks.cli.commands.models import _trial_rows
from callblocks.core.errors import CallerError
from callblocks.models.openai.known_servers import SERVERS
from callblocks.session.session import Trial
from callblocks.views.rows import plain
from support.command import run
from support.command_home import fence, move_in
from support.model_server import ModelServer, chat_events

ADD = fence("add_numbers", a=19, b=23)


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in {key for one in SERVERS.values() for key in one.keys} | {"CALLBLOCKS_MODEL"}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CALLBLOCKS_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setattr("callblocks.cli.chat.chat_loop.open_terminal", lambda: None)
    configure(tmp_path, "")
    return move_in(tmp_path, monkeypatch)


def configure(folder: Path, text: str) -> None:
    (folder / "config.toml").write_text(text, "utf-8")


@pytest.fixture
def server(tmp_path: Path) -> Generator[ModelServer]:
    """A server of two models, one of which is configured, as the default."""
    with ModelServer(models=["qwen3", "llama3.2"]) as server:
        configure(
            tmp_path,
            f'default = "coder"\n[models.coder]\naddress = "{server.url}#qwen3"\n'
            'temperature = 0.5\nmax_tokens = 50\nsystem = "Speak low."\n',
        )
        yield server


def test_each_configured_model_is_listed_with_what_its_server_has(server: ModelServer) -> None:
    result = run("models")
    assert result.exit_code == 0
    assert "coder (default)" in result.stdout
    assert "temperature 0.5" in result.stdout
    assert f"{server.url} has qwen3, llama3.2" in result.stdout
    assert run("models", "list").stdout == result.stdout


def test_any_form_is_listed_too_and_a_name_that_is_none_is_usage(server: ModelServer) -> None:
    result = run("models", "list", server.url, "scripted", f"{server.url}#qwen2")
    assert result.exit_code == 0
    assert "on this machine" in result.stdout
    assert "qwen2 is none of them; did you mean qwen3?" in result.stdout
    result = run("models", "list", "codr")
    assert result.exit_code == 2
    assert "did you mean coder?" in result.stderr


def test_for_programs_each_model_is_an_object(server: ModelServer) -> None:
    result = run("models", "list", "--json")
    assert json.loads(result.stdout) == {
        "name": "coder",
        "address": f"{server.url}#qwen3",
        "default": True,
        "url": server.url,
        "model": "qwen3",
        "settings": {"temperature": 0.5, "max_tokens": 50, "system": "Speak low."},
        "models": ["qwen3", "llama3.2"],
    }


def test_a_server_that_is_gone_and_a_key_that_is_missing_are_told(tmp_path: Path) -> None:
    configure(
        tmp_path,
        '[models.gone]\naddress = "http://127.0.0.1:9/v1#x"\n'
        '[models.rented]\naddress = "openai:gpt-x"\nkey_env = "NO_SUCH_KEY"\n',
    )
    result = run("models")
    assert result.exit_code == 0
    assert "cannot be reached" in result.stdout
    assert "not asked: NO_SUCH_KEY is not set" in result.stdout


def test_a_wrong_variable_is_told_beside_its_model_alone(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk abc ")
    monkeypatch.setenv("HOUSE_TEAM", "two\nlines")
    configure(
        tmp_path,
        f'[models.coder]\naddress = "{server.url}#qwen3"\nkey_env = "HOUSE_KEY"\n'
        '[models.rented]\naddress = "openai:gpt-x"\n'
        '[models.house]\naddress = "http://h/v1#x"\nheaders_env = {x-team = "HOUSE_TEAM"}\n',
    )
    monkeypatch.setenv("HOUSE_KEY", "k")
    result = run("models")
    assert result.exit_code == 0
    assert f"{server.url} has qwen3" in result.stdout
    assert "the model's key has a blank" in result.stdout
    assert "the header 'x-team'" in result.stdout


def test_without_a_config_it_is_said_how_to_write_one(tmp_path: Path) -> None:
    result = run("models")
    assert result.exit_code == 0
    assert str(tmp_path / "config.toml") in result.stdout
    assert "ollama:MODEL" in result.stdout


@pytest.mark.parametrize("command", [("models",), ("chat", "--prompt", "Hi"), ("models", "test")])
def test_a_config_that_is_not_understood_is_one_line_and_usage(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    configure(tmp_path, "[models.m]\naddres = 'x'\n")
    result = run(*command)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "models.m, 'addres': is no key here; did you mean address?" in result.stderr


def test_a_model_that_calls_as_text_is_told_with_its_dialect(server: ModelServer) -> None:
    server.answer(*chat_events(f"I add.\n{ADD}"))
    server.answer(*chat_events("It is 42."))
    result = run("models", "test")
    assert result.exit_code == 0, result.output
    assert "coder: a call as text, in tool-fence, came and ran (mode mixed; " in result.stdout
    body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"]) == (0.5, 50)
    assert body["messages"][0]["content"].startswith("Speak low.")
    assert "42" in json.dumps(server.requests[1].body["messages"])


def test_a_model_that_makes_no_call_is_told_with_what_it_said(server: ModelServer) -> None:
    server.answer(*chat_events("It is 42, I think."))
    result = run("models", "test", "coder")
    assert result.exit_code == 1
    # Its server counts no tokens for the tools, so `auto` has gone over to text.
    assert "no call came (mode mixed; " in result.stdout
    assert "it said: It is 42, I think." in result.stdout
    assert "--mode" in result.stdout


def test_a_model_that_fails_in_its_test_is_told_with_the_way_out(server: ModelServer) -> None:
    server.answer(b'{"error": "model not found"}', status=404)
    result = run("models", "test", f"{server.url}#qwen2", "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert (told["code"], told["mode"]) == ("model_refused", "mixed")
    assert "did you mean qwen3?" in told["message"]


def test_a_native_call_is_told_as_one() -> None:
    trial = Trial(model="m", mode="native", dialect="native", ran=True, status="answered")
    assert plain(_trial_rows(trial, 80)[0]).startswith("m: a native call came and ran (mode native")
    assert trial.ok


def test_a_chat_without_a_model_takes_the_default_and_options_go_before(
    server: ModelServer,
) -> None:
    assert run("chat", "trip", "--prompt", "Hi").exit_code == 0
    options = ("--temperature", "0", "--max-tokens", "9", "--system", "Speak up.", "--mode", "text")
    assert run("chat", "trip", "--prompt", "Hi", *options).exit_code == 0
    first, *_, second = (request.body for request in server.requests)
    assert (first["model"], first["temperature"], first["max_tokens"]) == ("qwen3", 0.5, 50)
    assert first["messages"][0]["content"].startswith("Speak low.")
    assert (second["temperature"], second["max_tokens"]) == (0, 9)
    assert second["messages"][0]["content"].startswith("Speak up.")


def test_an_option_of_servers_is_usage_for_scripts() -> None:
    result = run("chat", "--prompt", "Hi", "--temperature", "1")
    assert result.exit_code == 2
    assert "--temperature is for a model behind an address" in result.stderr


def test_a_dialect_of_the_config_that_is_none_is_told_with_its_place(tmp_path: Path) -> None:
    configure(tmp_path, '[models.m]\naddress = "http://h/v1#x"\ndialect = "klingon"\n')
    result = run("chat", "-m", "m", "--prompt", "Hi")
    assert result.exit_code == 2
    assert "models.m, dialect: no dialect 'klingon'" in result.stderr


def test_members_of_a_team_are_named_by_the_config_too(
    server: ModelServer, workspace: Path
) -> None:
    Path("team.toml").write_text(
        '[team]\nconsensus = {model = "coder"}\n[[member]]\nname = "one"\nmodel = "coder"\n'
    )
    result = run("chat", "trip", "--team", "team.toml", "--prompt", "Hi")
    assert result.exit_code == 0, result.output
    assert {request.body["temperature"] for request in server.requests} == {0.5}
    assert all(
        "Speak low." in request.body["messages"][0]["content"] for request in server.requests
    )


def serving(**given: Any) -> ChatSetup:
    """The place that `callblocks serve` opens without --model."""
    options: Any = {
        **dict.fromkeys(("policy", "dialect", "store", "artifacts", "team", "skills", "model")),
        **dict.fromkeys(("system", "temperature", "max_tokens", "mode")),
        "ask": False,
        "allow": (),
        "allow_trait": (),
        "workspace": ".",
        "office": "local",
        "only": (),
        "tools": (),
        **given,
    }
    return ChatSetup(options, None, None)


def offered(place: ChatSetup) -> list[str]:
    names = [one.name for one in place.host.offered]
    place.host.close()
    return names


TWO = (
    '[models.small]\naddress = "http://127.0.0.1:9/v1#qwen3"\n'
    '[models.calm]\naddress = "http://127.0.0.1:9/v1#qwen3"\ntemperature = 0\ncontext = 8000\n'
    '[models.rented]\naddress = "openai:gpt-x"\nkey_env = "NO_SUCH_KEY"\n'
    '[models.late]\naddress = "http://127.0.0.1:9/v1"\n'
)


def test_a_server_offers_the_default_and_all_that_can_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(tmp_path, f'default = "calm"\n{TWO}')
    place = serving()
    budgets = [place.host.settings.session.budget_of(one.model) for one in place.host.offered]
    assert budgets == [4000, 100_000]
    assert offered(place) == ["calm", "small"]
    said = capsys.readouterr().err
    assert "rented is not offered" in said
    assert "NO_SUCH_KEY is not set" in said
    assert "late is not offered" in said
    assert "cannot be reached" in said


def test_a_server_opens_all_its_models_at_once_and_tells_of_them_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("one", "two", "three")
    configure(tmp_path, "".join(f"[models.{name}]\naddress = 'scripted'\n" for name in names))
    # Nobody passes before all have come; one after another, the first breaks it.
    all_came = Barrier(len(names), timeout=120)

    def open_none(spec: str, *_: Any) -> Any:
        all_came.wait()
        raise CallerError(f"no {spec}")

    monkeypatch.setattr("callblocks.cli.chat.chat_setup.open_named", open_none)
    options: Any = {"dialect": None, "office": "", "workspace": ".", "mode": None}
    options |= {"temperature": None, "max_tokens": None, "system": None}
    assert list(ChatModels(options).configured("")) == []
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(" is not offered")[0].split()[-1] for line in said] == list(names)


def test_a_server_without_a_default_offers_scripts_first(tmp_path: Path) -> None:
    configure(tmp_path, TWO)
    assert offered(serving()) == ["scripted", "small", "calm"]
    assert offered(serving(model="small")) == ["small", "calm"]


def test_a_default_that_cannot_be_used_does_not_stop_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(tmp_path, f'default = "late"\n{TWO}')
    assert offered(serving())[0] == "scripted"
    assert "late is not offered" in capsys.readouterr().err


def test_a_model_that_was_named_and_cannot_be_used_stops_it(tmp_path: Path) -> None:
    configure(tmp_path, TWO)
    with pytest.raises(CallerError, match="NO_SUCH_KEY"):
        serving(model="rented")
