from __future__ import annotations

from pathlib import Path

import pytest

from callblocks.core.errors import CallerError, ModelError
from callblocks.models.model_config import NamedModel
from callblocks.models.scripted import ScriptedModel
from callblocks.session.team_file import LARGEST, parse_team, read_team
from support.scripted_sessions import Replies

TEAM = """
[team]
name = "readers"
at_once = 2
consensus = {model = "scripted", dialect = "auto", system = "Be brief."}

[[member]]
name = "researcher"
model = "http://127.0.0.1:1/v1#m"
tools = ["file_read", "file_list"]
system = "Look."

[[member]]
name = "critic"
model = "scripted"
dialect = "scissors-cat"
"""


def _replies(spec: str) -> NamedModel:
    return NamedModel(model=Replies(), spec=spec)


def test_a_team_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "team.toml"
    path.write_text(TEAM)
    team = read_team(path)
    researcher, critic = team.members
    assert (team.name, team.at_once, team.names) == ("readers", 2, ("researcher", "critic"))
    assert (team.consensus.dialect, team.consensus.system) == ("auto", "Be brief.")
    assert researcher.tools == ("file_read", "file_list")
    assert (researcher.dialect, researcher.system) == ("", "Look.")
    assert (critic.dialect, critic.tools) == ("scissors-cat", ())
    assert "readers (researcher, critic)" in team.told(critic)
    assert team.told(researcher).endswith("\n\nLook.")


def test_the_same_text_is_the_same_model() -> None:
    team = parse_team(TEAM)
    assert isinstance(team.consensus.model, ScriptedModel)
    assert team.members[1].model is team.consensus.model
    assert list(team.models) == [team.members[0].model, team.consensus.model]


HEAD = '[team]\nconsensus = {model = "scripted"}\n'
ONE = '[[member]]\nname = "one"\nmodel = "scripted"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[team", "not TOML: "),
        ("a = " + "[" * 5000, "nested too deep"),
        ("", "team: is missing"),
        (HEAD, "member: is missing"),
        (f"{HEAD}{ONE}[[members]]\n", 'members: is no key here; did you mean "member"?'),
        (f"team = 3\n{ONE}", "team: 3 is not a table"),
        (f"[team]\n{ONE}", "team, consensus: is missing"),
        (f"[team]\nconsensus = {{}}\n{ONE}", "team, consensus, model: is missing"),
        (f"[team]\nconsensus = 'x'\n{ONE}", "team, consensus: 'x' is not a table"),
        (f"{HEAD}at_once = true\n{ONE}", "team, at_once: True is not a whole number"),
        (f"{HEAD}at_once = 0\n{ONE}", "at_once: 0 is less than 1"),
        (f"{HEAD}limit = 1\n{ONE}", "team, limit: is no key here"),
        (f"member = []\n{HEAD}", "a team has at least one member"),
        (f"member = [1]\n{HEAD}", "member 1: 1 is no table; write [[member]] above each"),
        (f"{HEAD}[member]\n", "member: {} is not a list"),
        (f'{HEAD}[[member]]\nname = "one"\n', "member 1, model: is missing"),
        (f"{HEAD}{ONE}[[member]]\nmodel = 'scripted'\n", "member 2, name: is missing"),
        (f"{HEAD}{ONE}tool = []\n", 'member 1, tool: is no key here; did you mean "tools"?'),
        (f"{HEAD}{ONE}tools = 'file_read'\n", "member 1, tools: 'file_read' is not a list"),
        (f"{HEAD}{ONE}tools = [1]\n", "member 1, tools: 1 is no name of a tool"),
        (f"{HEAD}{ONE}system = 1\n", "member 1, system: 1 is not a text"),
        (f"{HEAD}{ONE}dialect = 'x'\n", "member 1, dialect: no dialect 'x'; choose from: auto,"),
        (f"{HEAD}{ONE}{ONE}", "two members are named one"),
        (HEAD + ONE.replace('"one"', '"a.b"'), "member 1, name: 'a.b' cannot name a member"),
        (HEAD + ONE.replace('"one"', '""'), "member 1, name: '' cannot name a member"),
        (HEAD + ONE.replace("scripted", "nothing"), "member 1, model: no model 'nothing'"),
    ],
)
def test_what_is_no_team_is_told_with_the_key(text: str, words: str) -> None:
    with pytest.raises(CallerError) as caught:
        parse_team(text, "team.toml")
    assert str(caught.value).startswith("team.toml: ")
    assert words in str(caught.value)


def test_a_model_that_cannot_be_opened_is_told_with_the_key() -> None:
    def missing(spec: str) -> NamedModel:
        raise ModelError("model_missing", f"there is no {spec}")

    with pytest.raises(CallerError, match="team, consensus, model: there is no scripted"):
        parse_team(TEAM, opening=missing)


def test_names_that_differ_in_case_alone_are_refused() -> None:
    text = HEAD + ONE + ONE.replace("one", "ONE")
    with pytest.raises(CallerError, match="two members are named one"):
        parse_team(text, opening=_replies)


def test_no_model_is_opened_for_a_file_that_is_not_understood() -> None:
    opened: list[str] = []

    def opening(spec: str) -> NamedModel:
        opened.append(spec)
        return _replies(spec)

    with pytest.raises(CallerError, match="member 2, model: is missing"):
        parse_team(f'{HEAD}{ONE}[[member]]\nname = "two"\n', opening=opening)
    assert not opened


def test_a_file_that_cannot_be_read_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match=r"none\.toml: cannot be read: No such file"):
        read_team(tmp_path / "none.toml")
    path = tmp_path / "team.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(CallerError, match=r"team\.toml: not UTF-8 text"):
        read_team(path)
    path.write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(CallerError, match=r"team\.toml: larger than"):
        read_team(path)
