"""A team as a file that people read and write.

    [team]
    name = "readers"
    at_once = 2                      # how many members answer at the same time
    consensus = {model = "scripted", dialect = "auto", system = "Be brief."}

    [[member]]
    name = "researcher"
    model = "http://127.0.0.1:8080/v1#small"
    tools = ["file_read", "file_list"]
    dialect = "tool-fence"          # without it, that of the model's family
    system = "Look into the files before you answer."

A model is a name of the config file, where the caller reads one, or one of
`callblocks.models.opening.MODEL_FORMS`; the same text is the same model. A dialect and a system
prompt that the config file has for it hold where the member names none. Whatever is not understood
is an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

from callblocks.model.brief import brief
from callblocks.model.errors import CallerError, ModelError, UnknownDialect
from callblocks.model.toml_text import parse_toml
from callblocks.models.config import NamedModel, open_named
from callblocks.runtime.policy.rule_fault import hint
from callblocks.session.team_settings import Member, TeamSettings, Voice

__all__ = ("LARGEST", "parse_team", "read_team")

# Bytes that the file of a team may have.
LARGEST = 1_000_000

V = TypeVar("V", bound=Voice)
_Table: TypeAlias = dict[str, Any]
_Opening: TypeAlias = Callable[[str], NamedModel]

_VOICE: dict[str, type] = {"model": str, "tools": list, "dialect": str, "system": str}
_MEMBER: dict[str, type] = {"name": str, **_VOICE}
_TEAM: dict[str, type] = {"name": str, "at_once": int, "consensus": dict}
_FILE: dict[str, type] = {"team": dict, "member": list}
_WORDS = {str: "a text", list: "a list", int: "a whole number", dict: "a table"}


def read_team(path: str | os.PathLike[str], opening: _Opening = open_named) -> TeamSettings:
    """The team in a file. Its models are the caller's to close; they are in `models`."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise CallerError(f"{name}: larger than {LARGEST} bytes, which no team is")
        return parse_team(content.decode("utf-8"), name, opening)
    except OSError as error:
        raise CallerError(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CallerError(
            f"{name}: not UTF-8 text: {error.reason} at byte {error.start}"
        ) from error


def parse_team(text: str, name: str = "", opening: _Opening = open_named) -> TeamSettings:
    """The team that a text describes; `name` stands before every complaint about it."""
    return parse_toml(text, "team", name, lambda found: _team(found, opening))


def _team(found: _Table, opening: _Opening) -> TeamSettings:
    """All is looked at before a model is opened."""
    _check("", found, _FILE, needed=("team", "member"))
    team = cast("_Table", found["team"])
    _check("team", team, _TEAM, needed=("consensus",))
    _check_voice("team, consensus", team["consensus"], _VOICE, needed=("model",))
    members = cast("list[object]", found["member"])
    for number, member in enumerate(members, 1):
        _check_voice(f"member {number}", member, _MEMBER, needed=("name", "model"))
    shared = cache(opening)
    return TeamSettings(
        name=team.get("name", ""),
        at_once=team.get("at_once", 4),
        consensus=_made("team, consensus", Voice, team["consensus"], shared),
        members=tuple(
            _made(f"member {number}", Member, cast("_Table", member), shared)
            for number, member in enumerate(members, 1)
        ),
    )


def _check(where: str, table: _Table, kinds: dict[str, type], needed: Sequence[str]) -> None:
    """Raise `CallerError` unless the table has the required keys, no others, and matching types."""
    for key, value in table.items():
        if key not in kinds:
            raise _fault(where, key, f"is no key here{hint(key, kinds)}")
        if type(value) is not kinds[key]:
            raise _fault(where, key, f"{brief(value)} is not {_WORDS[kinds[key]]}")
    for key in needed:
        if key not in table:
            raise _fault(where, key, "is missing")


def _check_voice(where: str, found: object, kinds: dict[str, type], needed: Sequence[str]) -> None:
    if not isinstance(found, dict):
        raise CallerError(f"{where}: {brief(found)} is no table; write [[member]] above each")
    table = cast("_Table", found)
    _check(where, table, kinds, needed)
    for tool in table.get("tools", []):
        if not isinstance(tool, str):
            raise _fault(where, "tools", f"{brief(tool)} is no name of a tool")


def _made(where: str, kind: type[V], table: _Table, opening: _Opening) -> V:
    try:
        opened = opening(table["model"])
    except (CallerError, ModelError) as error:
        raise _fault(where, "model", str(error)) from error
    try:
        own = {"dialect": opened.dialect, "system": opened.system}
        fields: _Table = {name: value for name, value in own.items() if value} | table
        fields |= {"model": opened.model, "tools": tuple(table.get("tools", ()))}
        return kind(**fields)
    except UnknownDialect as error:
        raise _fault(where, "dialect", str(error)) from error
    except CallerError as error:
        raise _fault(where, "name", str(error)) from error


def _fault(where: str, key: str, problem: str) -> CallerError:
    place = f"{where}, {key}" if where else key
    return CallerError(f"{place}: {problem}")
