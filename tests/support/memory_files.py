"""The files of turns in memory."""

from __future__ import annotations

from callblocks.core.paths import FilePath


class MemoryFiles:
    """Files by their path on disk; `broken` is what writing and reading raise."""

    def __init__(self, contents: dict[str, bytes] | None = None) -> None:
        self.contents = dict(contents or {})
        self.broken: Exception | None = None
        self.claimed: set[str] = set()

    def read(self, path: FilePath) -> bytes | None:
        if self.broken is not None:
            raise self.broken
        return self.contents.get(path.physical)

    def turns(self) -> list[str]:
        return [*(path.partition("/")[0] for path in self.contents), *self.claimed]

    def claim(self, turn: str) -> bool:
        is_free = turn not in self.turns()
        self.claimed.add(turn)
        return is_free

    def give_back(self, turn: str) -> None:
        self.claimed.discard(turn)
        for path in [path for path in self.contents if path.startswith(f"{turn}/attachments/")]:
            del self.contents[path]

    def write(self, path: FilePath, content: bytes) -> None:
        if self.broken is not None:
            raise self.broken
        self.contents[path.physical] = content
