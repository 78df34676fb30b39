"""Turns that are followed from their start, in each form of stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import msgspec

from callblocks.core.blocks import Entry
from callblocks.core.events import TurnEvent
from callblocks.server.chats.chats import RunningTurn
from support.chat_server import Served
from support.gated_scripts import GatedScripts
from support.terminal_drawing import chat_text_of

__all__ = ("Followed", "Following", "joined", "spec_form", "without_seconds")


class Followed(msgspec.Struct, frozen=True):
    """A turn that is over: told in the program, sent to a client, and kept."""

    events: list[TurnEvent]
    chunks: list[dict[str, Any]]
    shown: dict[str, Any]
    entries: list[Entry]

    @property
    def text(self) -> str:
        """Its chat text."""
        return chat_text_of(self.events).text

    @property
    def reply(self) -> list[dict[str, Any]]:
        """The parts of its message, as a page loads them; how long a call took is left out."""
        return [without_seconds(part) for part in self.shown["messages"][-1]["parts"]]


def without_seconds(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part without what only the log knows of its call: how many seconds it took."""
    own = dict(part.get("callProviderMetadata", {}).get("callblocks", {}))
    if own.pop("seconds", None) is None:
        return part
    others = {**part["callProviderMetadata"], "callblocks": own}
    kept = {name: value for name, value in others.items() if value}
    rest = {key: value for key, value in part.items() if key != "callProviderMetadata"}
    return {**rest, "callProviderMetadata": kept} if kept else rest


class Following:
    """Plays scripts over HTTP, each in a chat of its own."""

    def __init__(self, server: Served, *models: GatedScripts) -> None:
        self.server = server
        self._models = models
        self._count = count(1)

    def play(self, prompt: str, version: int = 5) -> Followed:
        """A turn to its end."""
        with self.begun(prompt, version) as (turn, chunks):
            told = list(chunks)
        chat = turn.session.name
        return Followed(
            events=events_of(turn),
            chunks=told,
            shown=self.server.client.get(
                f"/api/chat/{chat}", params={"sdk_version": version}
            ).json(),
            entries=self.server.service.entries(chat),
        )

    @contextmanager
    def begun(
        self, prompt: str, version: int = 5
    ) -> Iterator[tuple[RunningTurn, Iterator[dict[str, Any]]]]:
        """A turn that runs, and its stream."""
        chat = f"chat-{next(self._count)}"
        for model in self._models:
            model.close_gate()
        with self.server.streaming(prompt, chat, params={"sdk_version": version}) as chunks:
            turn = self.server.service.chats.get(chat)
            for model in self._models:
                model.open_gate()
            yield turn, chunks


def events_of(turn: RunningTurn) -> list[TurnEvent]:
    """What was told of a turn so far."""
    return [logged.event for logged in list(turn.log.events)]


def joined(chunks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Chunks without what differs from run to run: how texts are cut, and counts of tokens."""
    found: list[dict[str, Any]] = []
    for chunk in chunks:
        last = found[-1] if found else {}
        if chunk["type"] == last.get("type") == "text-delta" and chunk["id"] == last["id"]:
            found[-1] = {**last, "delta": last["delta"] + chunk["delta"]}
        elif chunk["type"] == "message-metadata":
            said = {key: one for key, one in chunk["messageMetadata"].items() if key != "tokens"}
            found.append({**chunk, "messageMetadata": said})
        else:
            found.append(chunk)
    return found


def spec_form(text: str) -> str:
    """Chat text whose blocks have no ids."""
    return re.sub(r'<tool id="[^"]*">', "<tool>", text)
