"""Scripted models that wait at a gate, so that a client is there before the first word."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path

from callblocks.models.model import Piece, Request
from callblocks.models.scripted import ScriptedModel

__all__ = ("GatedScripts", "written_scripts")


class GatedScripts:
    """A scripted model that says nothing while the gate is closed."""

    writes_results = True

    def __init__(self, folder: Path) -> None:
        self._model = ScriptedModel(folder, pace=0)
        self.name = self._model.name
        self._gate = threading.Event()
        self._gate.set()

    def close_gate(self) -> None:
        """Say nothing from now on."""
        self._gate.clear()

    def open_gate(self) -> None:
        """Go on."""
        self._gate.set()

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        while not self._gate.is_set():
            await asyncio.sleep(0.002)
        async with aclosing(self._model.reply(request)) as pieces:
            async for piece in pieces:
                yield piece

    async def close(self) -> None:
        await self._model.close()


def written_scripts(folder: Path, scripts: Mapping[str, str]) -> GatedScripts:
    """A model that plays these, each to whoever says its name."""
    folder.mkdir()
    for name, text in scripts.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    return GatedScripts(folder)
