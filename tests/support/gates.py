"""Gates at which a tool waits until a test opens them, also in another process."""

from __future__ import annotations

import asyncio
from pathlib import Path

__all__ = ("Gates",)


class Gates:
    """Closed until opened by name; `open_all` opens those to come as well."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def open(self, name: str) -> None:
        """Let all through that wait at this one, now and later."""
        (self._folder / f"{name}.open").touch()

    def open_all(self) -> None:
        """Let everything through."""
        (self._folder / "all").touch()

    async def passed(self, name: str) -> None:
        """Wait until the gate is open."""
        gate, all = self._folder / f"{name}.open", self._folder / "all"
        while not gate.exists() and not all.exists():
            await asyncio.sleep(0.005)
