"""Who speaks in a turn, and how: as the session is set up, unless the turn chose otherwise.

    Choice(model="scripted", dialect="emoji-bracket", scenario="02-write-report")

A choice names things. It is written on the timeline with the prompt, so a turn that goes on after
a crash goes on with the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from callblocks.dialects import dialects
from callblocks.model.errors import CallerError, UnknownDialect
from callblocks.models.model import Model
from callblocks.models.scenario import scenarios_of
from callblocks.parser import AUTO
from callblocks.parsing.dialect import Dialect

__all__ = ("NO_CHOICE", "Choice", "Offered", "Offers", "choice_of", "taught_dialects")

_TAUGHT = "tool-fence"
"""What a model is taught that may write any dialect."""


class Choice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a turn is run with; "" is what the session has. `scenario` is a script's name."""

    model: str = ""
    dialect: str = ""
    scenario: str = ""


NO_CHOICE = Choice()
"""All as the session has it."""


class Offered(msgspec.Struct, frozen=True):
    """A model that a turn may choose, and the dialect that suits it.

    `label` is how turns name it, where that is not the model's own name. `system` is what it is
    told in place of the session's; None for that of the session.
    """

    model: Model
    dialect: str = _TAUGHT
    label: str = ""
    system: str | None = None

    @property
    def name(self) -> str:
        """How turns name it."""
        return self.label or self.model.name


class Offers:
    """The models that turns choose from, by their names; the first is for who chooses none."""

    def __init__(self, offered: Iterable[Offered]) -> None:
        self.offered = tuple(offered)
        names = [one.name for one in self.offered]
        if twice := [name for name in names if names.count(name) > 1]:
            raise CallerError(f"two models are named {twice[0]}; a turn could not choose between")
        for one in self.offered:
            taught_dialects(one.dialect)

    def check(self, choice: Choice) -> None:
        """Raise `CallerError` for what is not there; it names what is."""
        names = [one.name for one in self.offered]
        if choice.model and choice.model not in names:
            raise _unknown("model", choice.model, names)
        if choice.dialect:
            taught_dialects(choice.dialect)
        chosen = self.chosen(choice)
        known = [one.name for one in scenarios_of(chosen.model)]
        if choice.scenario and not known:
            raise CallerError(f"the model {chosen.name} has no scenarios: leave `scenario` out")
        if choice.scenario and choice.scenario not in known:
            raise _unknown("scenario", choice.scenario, known)

    def chosen(self, choice: Choice) -> Offered:
        """The model and dialect of a choice; the first where it names one that is not here."""
        named = (one for one in self.offered if one.name == choice.model)
        found = next(named, self.offered[0])
        return msgspec.structs.replace(found, dialect=choice.dialect) if choice.dialect else found


def choice_of(meta: dict[str, Any]) -> Choice:
    """What a prompt was sent with, by the meta of its block; without a dialect that is gone."""
    try:
        chosen = msgspec.convert(meta.get("chosen", {}), Choice)
    except msgspec.ValidationError:
        return NO_CHOICE
    try:
        taught_dialects(chosen.dialect or AUTO)
    except UnknownDialect:
        return msgspec.structs.replace(chosen, dialect="")
    return chosen


def taught_dialects(dialect: str) -> tuple[Sequence[Dialect], Dialect]:
    """The dialects that are read, and the one that is written; a display is not for models."""
    taught = {name: one for name, one in dialects.items() if one.rules}
    if dialect == AUTO:
        return [one for one in taught.values() if one.in_auto], taught[_TAUGHT]
    name = dialects[dialect].name if dialect in dialects else dialect
    if name not in taught:
        raise UnknownDialect(dialect, (AUTO, *taught))
    return [taught[name]], taught[name]


def _unknown(what: str, name: str, known: Sequence[str]) -> CallerError:
    return CallerError(f"no {what} {name!r:.80} here; choose from: {', '.join(known)}")
