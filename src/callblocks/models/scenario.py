"""Scenarios of a model that plays scripts: one for each script, with a first prompt."""

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
    """Return the scenarios of a model; none for a real one."""
    return tuple(getattr(model, "scenarios", ()))
