"""Ingestion on request: one file, or a folder with all files in it.

Unchanged files are not read again, missing ones are dropped from the index, and one that cannot be
read is skipped with a reason without stopping the others. Changes are collected and committed in
batches, so that parsing (seconds) does not happen inside of a transaction.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.real_path import wrong_type
from callblocks.guard.files.root import Root, is_hidden
from callblocks.toolkits.search.chunks import kind_of
from callblocks.toolkits.search.index import File, Index, name_of, use_store
from callblocks.toolkits.search.refresh import (
    Seen,
    file_of,
    is_same,
    load,
    look_at,
    put,
    settled,
    walk,
)
from callblocks.toolkits.search.text_readers import read_content
from callblocks.tools.tool import Context, running_as

__all__ = ("IngestRequest", "ingest")

_MOST = 10_000
_TOLD = 50
_OF_CONTENT = ("file_invalid", "not_text")
_AT_ONCE = 50
_SECONDS = 0.5


class IngestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request: a path, and the title and tags that somebody chose."""

    path: str
    recursive: bool = True
    title: str = ""
    tags: tuple[str, ...] = ()


def ingest(root: Root, asked: IngestRequest, context: Context) -> dict[str, Any]:
    """Read a file or a folder into the index and return a report."""
    entry = root.stat(asked.path)
    if entry.kind == "other":
        raise wrong_type(asked.path, "it is a pipe, a socket or a device, not a file")
    if asked.title and entry.kind == "folder":
        words = f"{brief(asked.path)} is a folder; a title is for one file, give tags instead"
        raise ToolError("invalid_input", words, title=words)
    real = msgspec.structs.replace(asked, path=entry.path)

    def work(store: sqlite3.Connection) -> dict[str, Any]:
        run = _Ingest(Index(store), root, real, context)
        return run.folder() if entry.kind == "folder" else run.one()

    return use_store(root, work)


class _Ingest:
    """One run: the files that were read, skipped and dropped so far."""

    def __init__(self, index: Index, root: Root, asked: IngestRequest, context: Context) -> None:
        self._index = index
        self._root = root
        self._ready: list[Callable[[], None]] = []
        self._began = time.monotonic()
        self._asked = asked
        self._context = context
        self._read: list[str] = []
        self._skipped: list[dict[str, str]] = []
        self._passages = 0
        self._unchanged = 0
        self._dropped = 0

    def one(self) -> dict[str, Any]:
        """Read one file; raise its problem."""
        seen = look_at(self._root, self._asked.path)
        if seen is None:
            raise ToolError("path_not_found", "it was removed just now; list the folder again")
        try:
            self._take(seen)
        except ToolError as error:
            if error.code not in _OF_CONTENT:
                raise
            self._flush()
            raise ToolError(error.code, f"{brief(seen.path)}: {error.message}") from error
        return self._report()

    def folder(self) -> dict[str, Any]:
        """Read the files of a folder; report problems and continue."""
        files = self._files()
        for number, seen in enumerate(files, 1):
            if self._context.cancelled:
                break
            self._context.report(f"file {number} of {len(files)}: {seen.path}\n")
            try:
                self._take(seen)
            except ToolError as error:
                told = {"path": seen.path, "code": error.code, "reason": error.message}
                self._skipped.append(told)
        self._drop({seen.path for seen in files})
        return self._report()

    def _files(self) -> list[Seen]:
        asked = self._asked
        folders = walk(self._root, asked.path, below=asked.recursive)
        files: list[Seen] = []
        for folder in folders:
            # Hidden files are not even listed as skipped.
            files += [seen for seen in folder.files if not is_hidden(seen.path)]
            if len(files) > _MOST or not folder.complete:
                self._context.notice(
                    "files_left_out",
                    f"there are more than {_MOST:,} files; ingest the folders in it one by one",
                )
                break
        return files[:_MOST]

    def _take(self, seen: Seen) -> None:
        refusal = self._context.path_refusal(seen.path)
        if refusal is not None:
            raise ToolError("policy_denied", refusal)
        known = self._index.file(seen.path)
        # Two tests for "unchanged", the cheap one first: size and mtime without reading, then the
        # digest. A file that was only touched gets its new mtime and is not parsed again.
        was_read = known is not None and known.state == "read"
        if was_read and is_same(known, seen) and self._same_names(known):
            self._unchanged += 1
            return
        with running_as(None):
            # Reading a file into the index does not show it to the model, so it does not taint the
            # turn. The search that returns its passages does.
            content, digest = load(self._root, seen.path)
        # Title and tags come from the model, possibly under the influence of foreign text. Mark
        # them, so that showing them again taints that turn too.
        if self._asked.title or self._asked.tags:
            self._root.origins.mark(name_of(seen.path))
        if known is not None and was_read and known.digest == digest and self._same_names(known):
            self._unchanged += 1
            touched = msgspec.structs.replace(known, size=seen.size, mtime=settled(seen.mtime))
            self._later(lambda: self._index.note(touched))
            return
        try:
            self._put(seen, content, digest, known)
        except ToolError as error:
            if error.code in _OF_CONTENT:
                self._remember(seen, digest, known)
            raise

    def _remember(self, seen: Seen, digest: str, known: File | None) -> None:
        """Record that a file cannot be read, so that no notice suggests to ingest it again."""
        given, tags = (known.given, known.tags) if known else ("", ())
        failed = msgspec.structs.replace(
            file_of(seen), digest=digest, state="skipped", given=given, tags=tags
        )
        self._later(lambda: self._index.put(failed, ()))

    def _put(self, seen: Seen, content: bytes, digest: str, known: File | None) -> None:
        read = read_content(kind_of(seen.path), content, self._context)
        given = self._asked.title or (known.given if known else "")
        tags = self._asked.tags or (known.tags if known else ())
        self._later(lambda: put(self._index, seen, digest, read, given=given, tags=tags))
        self._read.append(seen.path)
        self._passages += len(read.passages)
        if not read.passages:
            self._context.notice("no_text", f"{seen.path} has no text; it may hold pictures only")

    def _later(self, change: Callable[[], None]) -> None:
        """Queue a change; batches cost little more than a single one."""
        self._ready.append(change)
        if len(self._ready) >= _AT_ONCE or time.monotonic() - self._began > _SECONDS:
            self._flush()

    def _flush(self) -> None:
        with self._index.changing():
            for change in self._ready:
                change()
        self._ready.clear()
        self._began = time.monotonic()

    def _same_names(self, known: File | None) -> bool:
        """Tell if the requested title and tags are those of the index."""
        asked = self._asked
        return known is None or (
            (not asked.title or asked.title == known.given)
            and (not asked.tags or asked.tags == known.tags)
        )

    def _drop(self, met: set[str]) -> None:
        """Remove files from the index that have vanished from the folder."""
        for path in self._index.paths_below(self._asked.path):
            if path not in met and look_at(self._root, path) is None:
                self._later(lambda path=path: self._index.drop(path))
                self._dropped += 1

    def _report(self) -> dict[str, Any]:
        self._flush()
        # File names can carry foreign text as well.
        named = (*self._read[:_TOLD], *(one["path"] for one in self._skipped[:_TOLD]))
        self._root.origins.saw_files(named)
        told: dict[str, Any] = {"files": len(self._read), "passages": self._passages}
        counts = {"unchanged": self._unchanged, "dropped": self._dropped}
        told |= {key: count for key, count in counts.items() if count}
        told["paths"] = self._read[:_TOLD]
        if self._skipped:
            told["skipped"] = self._skipped[:_TOLD]
            more = len(self._skipped) - _TOLD
            if more > 0:
                told["more_skipped"] = more
        return told
