"""Who speaks in a turn, and how: as the session is set up, unless the turn chose otherwise.

    Choice(model="scripted", dialect="emoji-bracket", scenario="02-write-report")

A choice names things. It is written on the timeline with the prompt, so a turn that goes on after
a crash goes on with the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from callblocks.dialects import dialect_of, dialects
from callblocks.model.errors import CallerError, UnknownDialect
from callblocks.models.model import Model
from callblocks.models.scenario import scenarios_of
from callblocks.parser import AUTO, unknown_dialect

__all__ = (
    "DEFAULT_DIALECT",
    "NO_CHOICE",
    "Choice",
    "Offered",
    "Offers",
    "check_dialect",
    "choice_of",
    "is_taught",
    "known_dialect",
)


DEFAULT_DIALECT = "hermes"
"""What a model of an unknown family is taught: JSON in tags, which most open models have seen."""


class Choice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a turn is run with; "" is what the session has. `scenario` is a script's name."""

    model: str = ""
    dialect: str = ""
    scenario: str = ""


NO_CHOICE = Choice()
"""All as the session has it."""


class Offered(msgspec.Struct, frozen=True):
    """A model that a turn may choose, and its dialect; "" is that of its family.

    `label` is how turns name it, where that is not the model's own name. `system` is what it is
    told in place of the session's; None for that of the session.
    """

    model: Model
    dialect: str = ""
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
            check_dialect(one.dialect)

    def check(self, choice: Choice) -> None:
        """Raise `CallerError` for what is not there; it names what is."""
        names = [one.name for one in self.offered]
        if choice.model and choice.model not in names:
            raise _unknown("model", choice.model, names)
        check_dialect(choice.dialect)
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
        check_dialect(chosen.dialect)
    except UnknownDialect:
        return msgspec.structs.replace(chosen, dialect="")
    return chosen


def known_dialect(offered: Offered) -> str:
    """Return the dialect that was named for a model, else its family's; "" where none is known."""
    if offered.dialect not in ("", AUTO):
        return offered.dialect
    family = dialect_of(offered.model.name) or ""
    return family if is_taught(family) else ""


def check_dialect(dialect: str) -> None:
    """Raise `UnknownDialect` for one that no model can be taught; "" and `auto` are none."""
    if dialect not in ("", AUTO) and not is_taught(dialect):
        taught = (name for name in dialects if is_taught(name))
        raise unknown_dialect(dialect, (AUTO, *taught))


def is_taught(dialect: str) -> bool:
    """Return whether models can be taught a dialect of that name; a display is not for them."""
    return dialect in dialects and bool(dialects[dialect].rules)


def _unknown(what: str, name: str, known: Sequence[str]) -> CallerError:
    return CallerError(f"no {what} {name!r:.80} here; choose from: {', '.join(known)}")
