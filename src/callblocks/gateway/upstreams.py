"""Upstreams: the models that answer, by the names that clients use."""

from __future__ import annotations

import msgspec

from callblocks.models.model import Model

__all__ = ("ModelSettings", "Upstream")


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings for the replies of one model.

    `retries` is how often it is asked again within one request, where a call is broken or a demand
    is not held. With `holds_prose` text is sent only when the reply ended without a call, for
    clients that take text before a call for the answer. `compact` teaches short signatures; `None`
    decides by the model's name. `grammars` says whether the server may be given grammars; `None` is
    yes where it is known to take them. `remarks` adds what was mended to each reply, in a field
    `callblocks`.
    """

    retries: int = 2
    holds_prose: bool = False
    compact: bool | None = None
    grammars: bool | None = None
    remarks: bool = False
    system: str = ""


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """One model behind one name. `dialect` is "" where the name of the model decides."""

    name: str
    model: Model
    dialect: str = ""
    settings: ModelSettings = ModelSettings()
