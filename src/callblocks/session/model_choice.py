"""The model, dialect and scenario of a turn: those of the session unless the turn chose others.

    Choice(model="scripted", dialect="emoji-bracket", scenario="02-write-report")

A choice holds names only. It is written on the timeline with the prompt, so a turn that is resumed
after a crash continues with the same model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from callblocks.core.errors import CallerError, UnknownDialect
from callblocks.dialects import dialect_of, dialects
from callblocks.models.model import Model, context_of, scenarios_of
from callblocks.parser import AUTO, unknown_dialect

__all__ = (
    "DEFAULT_DIALECT",
    "NO_CHOICE",
    "Attachment",
    "Choice",
    "ModelMenu",
    "Offered",
    "SessionSettings",
    "check_dialect",
    "choice_of",
    "is_taught",
    "known_dialect",
)

# The dialect taught to a model of an unknown family: JSON in tags, which most open models have seen
# in training.
DEFAULT_DIALECT = "hermes"


class Choice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The choice of one turn; "" means the session's own. `scenario` is a script's name."""

    model: str = ""
    dialect: str = ""
    scenario: str = ""


# The choice that changes nothing.
NO_CHOICE = Choice()


class Offered(msgspec.Struct, frozen=True):
    """A model that a turn may choose, and its dialect; "" means that of its family.

    `label` is the name under which turns choose it, if that is not the model's own name. `system`
    is its system prompt, and `grammar` whether it is held to its dialect; `None` means the
    session's.
    """

    model: Model
    dialect: str = ""
    label: str = ""
    system: str | None = None
    grammar: bool | None = None

    @property
    def name(self) -> str:
        """Return the name under which turns choose it."""
        return self.label or self.model.name


class ModelMenu:
    """The models that turns may choose, by name; the first is the default."""

    def __init__(self, offered: Iterable[Offered]) -> None:
        self.offered = tuple(offered)
        names = [one.name for one in self.offered]
        if twice := [name for name in names if names.count(name) > 1]:
            raise CallerError(f"two models are named {twice[0]}; a turn could not choose between")
        for one in self.offered:
            check_dialect(one.dialect)

    def check(self, choice: Choice) -> None:
        """Raise `CallerError` for a name that is not offered; the message lists those that are."""
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
        """Return the model and dialect of a choice; the first model if the named one is gone."""
        named = (one for one in self.offered if one.name == choice.model)
        found = next(named, self.offered[0])
        return msgspec.structs.replace(found, dialect=choice.dialect) if choice.dialect else found


def choice_of(meta: dict[str, Any]) -> Choice:
    """Return the choice in the meta of a prompt's block.

    An unreadable choice counts as none. A dialect that no longer exists is dropped: a timeline
    outlives the version that wrote it.
    """
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
    """Return the dialect named for a model, else that of its family; "" if neither is known."""
    if offered.dialect not in ("", AUTO):
        return offered.dialect
    family = dialect_of(offered.model.name) or ""
    return family if is_taught(family) else ""


def check_dialect(dialect: str) -> None:
    """Raise `UnknownDialect` for a dialect that cannot be taught; "" and `auto` pass."""
    if dialect not in ("", AUTO) and not is_taught(dialect):
        taught = (name for name in dialects if is_taught(name))
        raise unknown_dialect(dialect, (AUTO, *taught))


def is_taught(dialect: str) -> bool:
    """Return whether a dialect of that name can be taught; display-only dialects cannot."""
    return dialect in dialects and bool(dialects[dialect].rules)


def _unknown(what: str, name: str, known: Sequence[str]) -> CallerError:
    return CallerError(f"no {what} {name!r:.80} here; choose from: {', '.join(known)}")


# --- How far a turn may go, and what its model is told ---


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one turn.

    `rounds` is how often the model is asked, `calls` how many it may make, `text` how many
    characters a reply may have, `tokens` what all replies may cost, `seconds` how long it all may
    take. `max_tokens` goes to the model with each request. `budget` is how many tokens the model
    that speaks is shown of the timeline, and never more than half of its `context` where it has
    one; `None` is no limit. `system` stands before all else that the model is told. With `grammar`
    the model is held to its dialect, where it can be. `compact` says whether the prompt teaches
    tools by their signatures alone; `None` is yes for a small model or a short context. `broken` is
    how often in a row it may write calls that cannot be read. `reasoning` are the markers between
    which a model thinks.
    """

    rounds: int = 20
    calls: int = 100
    text: int = 1_000_000
    tokens: int | None = None
    seconds: float | None = None
    max_tokens: int | None = None
    budget: int | None = 100_000
    system: str = ""
    grammar: bool = False
    compact: bool | None = None
    broken: int = 3
    reasoning: tuple[tuple[str, str], ...] = (("<think>", "</think>"),)

    def budget_of(self, model: Model) -> int | None:
        """Return how many tokens of the timeline a model is shown.

        Half of its context is for tools, system prompt and reply.
        """
        context = context_of(model)
        if self.budget is None or context is None:
            return self.budget
        return max(1, min(self.budget, context // 2))


class Attachment(msgspec.Struct, frozen=True):
    """A file that the person gives with a prompt; or what a `member` of a team said to it."""

    name: str
    content: bytes
    member: str = ""
