"""What a model that plays scripts can show: one scenario for each script, with a first prompt."""

from __future__ import annotations

import msgspec

from callblocks.models.model import Model

__all__ = ("Scenario", "scenarios_of")


class Scenario(msgspec.Struct, frozen=True):
    """A script by its name; `prompt` is what a person would say to see it."""

    name: str
    title: str
    prompt: str


def scenarios_of(model: Model) -> tuple[Scenario, ...]:
    """The scenarios of a model; none for one that thinks for itself."""
    return tuple(getattr(model, "scenarios", ()))
