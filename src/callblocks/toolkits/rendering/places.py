"""The places to which documents are written, and from which their pictures come.

TurnPlace     the files of a turn; pictures by `fi:` path, or by name from this turn's files
              and attachments, then from earlier turns; sources from the timeline's pool
FolderPlace   the workspace, where there is no timeline; no sources
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from callblocks.model.citations import cited
from callblocks.model.errors import BadPath, ToolError
from callblocks.model.paths import FilePath, file_path, parse_path, parse_physical
from callblocks.model.written_path import written_path
from callblocks.runtime.files.root import Root
from callblocks.timeline.reading.finding import Shows
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.rendering.wire import Cited
from callblocks.tools.context import Context

__all__ = ("FolderPlace", "Place", "Target", "TurnPlace")


class Target(msgspec.Struct, frozen=True):
    """The path of a document, as shown to a person."""

    path: str
    rewritten: bool = False


class Place(Protocol):
    """A source of files and a target of documents; `replaces` if a write can lose content."""

    replaces: bool

    def target(self, path: str) -> Target:
        """Resolve a path; `ToolError` if nothing may be written there."""
        ...

    def judged(self, path: str, source: str) -> list[str]:
        """Return the paths that a policy judges before a call runs."""
        ...

    def read(self, name: str, context: Context) -> bytes | None:
        """Return a file by the name that a document or a call uses."""
        ...

    def unseen(self, name: str) -> str:
        """Return the path of a named file that the model no longer sees; "" otherwise."""
        ...

    def write(self, path: str, content: bytes) -> None:
        """Write a document atomically."""
        ...

    def sources(self, text: str) -> list[Cited]:
        """Return the sources that a text cites."""
        ...


class TurnPlace:
    """The files of one turn of a timeline."""

    replaces = False

    def __init__(
        self,
        recorder: Recorder,
        turn: str,
        root: Root | None = None,
        shows: Shows | None = None,
    ) -> None:
        self._recorder = recorder
        self._shows = shows
        self._turn = turn
        self._folder = root and FolderPlace(root)

    def target(self, path: str) -> Target:
        found, rewritten = self._target(path)
        return Target(found.physical, rewritten)

    def judged(self, path: str, source: str) -> list[str]:
        of_the_workspace = source and self._find(source.strip()) is None
        return [self.target(path).path, *([source] if of_the_workspace else [])]

    def read(self, name: str, context: Context) -> bytes | None:
        path, content = self._find(name) or (None, None)
        if path is None:
            return self._folder.read(name, context) if self._folder else None
        if path.place == "attachments":
            context.taint(f"shown in a document: {path}")
        return content

    def unseen(self, name: str) -> str:
        found = self._find(name)
        if found is None:
            return ""
        path = str(found[0])
        with self._recorder.lock:
            is_written = bool(self._recorder.state.at(path))
            visible = self._recorder.state.visible(path)
        # A file without a block was left in the folder by a tool; the view never hid it.
        is_seen = any(self._shows is None or self._shows(one.seq) for one in visible)
        return path if is_written and not is_seen else ""

    def write(self, path: str, content: bytes) -> None:
        self._recorder.holdings.files.write(self._target(path)[0], content)

    def sources(self, text: str) -> list[Cited]:
        with self._recorder.lock:
            pool = self._recorder.pool
            found = [pool.get(sid) for sid in cited(text, pool.sids)]
        return [
            Cited(one.sid, one.title, one.url or one.path, one.date)
            for one in found
            if one is not None
        ]

    def _target(self, path: str) -> tuple[FilePath, bool]:
        try:
            found = written_path(path, self._turn, self._recorder.state.turns)
        except BadPath as error:
            raise ToolError(error.code, f"{error}; nothing was written") from error
        return found.path, found.rewritten

    def _find(self, name: str) -> tuple[FilePath, bytes] | None:
        for path in self._named(name):
            content = self._recorder.holdings.read(path)
            if content is not None:
                return path, content
        return None

    def _named(self, name: str) -> Iterator[FilePath]:
        """Yield the files that a name may mean, the likeliest first."""
        for parse in (parse_path, parse_physical):
            try:
                path = parse(name)
            except BadPath:
                continue
            if isinstance(path, FilePath):
                yield path
                return
        bare = name.removeprefix("./").removeprefix("files/")
        with self._recorder.lock:
            earlier = [turn for turn in self._recorder.state.turns if turn != self._turn]
        # This turn first, then the newest: a name means the latest file that has it.
        for turn in (self._turn, *reversed(earlier)):
            for place in ("files", "attachments"):
                try:
                    yield file_path(turn, bare.removeprefix(f"{place}/"), place)
                except BadPath:
                    return


class FolderPlace:
    """The workspace: documents are written where a path says, and replace what is there."""

    replaces = True

    def __init__(self, root: Root) -> None:
        self._root = root

    def target(self, path: str) -> Target:
        return Target(path)

    def judged(self, path: str, source: str) -> list[str]:
        return [one for one in (path, source) if one]

    def read(self, name: str, context: Context) -> bytes | None:
        try:
            # The policy judges the resolved path: a link must not lead around a rule.
            real = self._root.resolve(name) or name
            if why := context.path_refusal(real):
                raise ToolError("policy_denied", why)
            content = self._root.read(name)
        except ToolError:
            return None
        return content

    def unseen(self, name: str) -> str:
        return ""

    def write(self, path: str, content: bytes) -> None:
        self._root.write(path, content)

    def sources(self, text: str) -> list[Cited]:
        return []
