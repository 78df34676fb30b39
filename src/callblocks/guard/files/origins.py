"""Origins of a workspace: which files hold text of others, checked on reads, noted before writes.

    with origins.reading("notes/a.md"):        taints the running call, where the file is marked
        …
    with origins.writing("notes/a.md"):        marks the file first, where the call is tainted
        …

The attack: a web page makes the model store an instruction in a file; a later, clean turn reads the
file and obeys. So taint must survive on disk. Two things make a file one of others: its location
(`FOREIGN`), and a mark. A mark is attached to the real path and to the file's identity, so links
lead to it, and renaming does not lose it. A file that a clean call writes whole, or deletes, loses
its mark afterwards; a file that was moved away before keeps it.

The current call comes from `running_context`: a tool that works on the workspace does nothing for
all this, and cannot forget it. Outside of a call nothing is tainted or marked.

Both directions fail closed: a mark that cannot be looked up counts as present, and a mark that
cannot be written stops the write.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from callblocks.core.errors import ToolError
from callblocks.core.globs import holds_path
from callblocks.guard.files.links import Walk, real_path
from callblocks.guard.files.open_below import Opener
from callblocks.guard.files.origin_marks import Identity, Mark, Marks, MarksUnavailable
from callblocks.guard.files.workspace_path import HERE, FileLimits
from callblocks.policy.facts import ContainedTaint
from callblocks.tools.context import running_context

__all__ = ("FOREIGN", "Origins", "is_foreign")

# Locations of files and mail of others: their text is not the person's own.
FOREIGN = ("attachments/**", "downloads/**", "office/**")

_UNKNOWN = "it cannot be looked up what holds text of others"


def is_foreign(path: str, foreign: tuple[str, ...] = FOREIGN) -> bool:
    """Return whether a path lies where files of others are kept."""
    # Case-insensitive: on some file systems `Downloads` is `downloads`.
    plain = path.casefold().removeprefix("./")
    return any(holds_path(one.casefold(), plain) for one in foreign)


class Origins:
    """The origins of one workspace; `folder` is a descriptor that stays open until `close`."""

    def __init__(
        self,
        workspace: Path,
        folder: int,
        opener: Opener,
        *,
        limits: FileLimits,
        foreign: tuple[str, ...] = FOREIGN,
    ) -> None:
        self._marks = Marks(workspace)
        self._folder = folder
        self._opener = opener
        self._limits = limits
        self._foreign = foreign

    def close(self) -> None:
        """Close the file of marks."""
        self._folder = -1
        self._marks.close()

    def of_file(self, path: str) -> str | None:
        """Return why a file at this real path, or its name, is text of others; `None` if it
        is not.
        """
        if is_foreign(path, self._foreign):
            return f"file of others: {path}"
        status = self._look(path)
        # A hard link gives a file of others a second, harmless name.
        if status is not None and _has_other_names(status) and self._is_linked_from(status):
            return f"file of others: {path}"
        identity = None if status is None else Identity.of(status)
        return self._told(lambda: self._marks.find(_names(path), identity), path)

    def of_path(self, path: str) -> str | None:
        """Return why a file, or something in a folder, is text of others; `None` if it is not."""
        if why := self.of_file(path):
            return why
        if path == HERE:
            return "files of others in the workspace" if self.holds_foreign() else None
        # A prefix with the slash: `notes` must not match `notes-old/a.md`.
        below = self._told(lambda: self._marks.find_below(f"file:{path}/"), path)
        return below or (self._of_moved(path) if self._is_folder(path) else None)

    def of(self, resource: str, words: str) -> str | None:
        """Return why a resource that is no file is text of others; `words` are its name."""
        return self._told(lambda: self._marks.find((resource,)), words)

    def holds_foreign(self) -> bool:
        """Return whether a command in the workspace may read text of others, or that is unknown."""
        # The foreign locations are top-level folders, so one level suffices to see whether any
        # exists.
        walk = Walk(self._folder, self._opener, depth=1, scan=self._limits.scan)
        if any(is_foreign(entry.path, self._foreign) for entry in walk.below(HERE)):
            return True
        marked = any(
            self._told(lambda kind=kind: self._marks.find_below(kind), "")
            for kind in ("file:", "tree:", "moved:")
        )
        return marked or not walk.complete

    def saw_files(self, paths: Iterable[str]) -> None:
        """Taint the current call if one of these files, by its real path, is of others."""
        self._saw(map(self.of_file, paths))

    def saw(self, resource: str, words: str) -> None:
        """Taint the current call if a resource that is no file holds text of others."""
        self._saw((self.of(resource, words),))

    def saw_store(self, path: str) -> None:
        """Taint the current call if a file whose rows have marks of their own is itself marked.

        A tainted call that writes such a file whole brings rows that nobody marked.
        """
        status = self._look(path)
        identity = None if status is None else Identity.of(status)
        self._saw((self._told(lambda: self._marks.find(_names(path), identity), path),))

    def mark(self, *resources: str) -> None:
        """Mark what the current call is about to store, if the call is tainted."""
        context = running_context()
        if resources and context is not None and (reasons := context.origins()):
            self.put(resources, reasons)

    def put(self, resources: Iterable[str], reasons: tuple[str, ...]) -> None:
        """Mark resources for these reasons."""
        contained = all(isinstance(why, ContainedTaint) for why in reasons)
        try:
            self._marks.put(resources, reasons[0], contained=contained)
        except MarksUnavailable as error:
            words = f"nothing was written, because its origin could not be noted: {error}"
            raise ToolError("not_kept", words) from error

    @contextmanager
    def reading(self, path: str) -> Generator[None]:
        """Taint the call that reads a file of others, by its real path.

        The mark is looked up before and after the read, because another call may replace the file
        in between.
        """
        if running_context() is None:
            yield
            return
        # A single lookup is a race in either order: another call may write and mark the file
        # between the lookup and the read, or between the read and the lookup.
        before = self.of_file(path)
        yield
        self._saw((before, self.of_file(path)))

    @contextmanager
    def writing(self, path: str) -> Generator[None]:
        """Mark the file before a tainted call writes it; remove the mark after a clean call wrote
        it.
        """
        context = running_context()
        if context is None:
            yield
            return
        # The names of folders created on the way are text, too.
        made = [f"file:{one}" for one in self._made(path)]
        old = self._look(path)
        reasons = context.origins()
        if reasons:
            self.put(made, reasons)
        yield
        if reasons:
            self._identify(path, _only_name(old))
            return
        # A mark that cannot be removed stays: that is the safe side.
        with suppress(MarksUnavailable):
            self._marks.clear(made, _only_name(old))

    @contextmanager
    def storing(self, paths: Sequence[str], place: str) -> Generator[None]:
        """Mark what a call of a foreign tool may write, if the call is tainted.

        Marked are the files at these paths, everything below folders, and a place elsewhere, where
        that is not "". No mark is removed, because it is unknown whether the tool wrote at all.
        """
        names = [f"file:{one}" for path in paths for one in self._made(path)]
        trees = [f"tree:{path}" for path in paths if self._is_folder(path)]
        resources = (*names, *trees, *([place] if place else []))
        self.mark(*resources)
        try:
            yield
        finally:
            # The call may have learned only while it ran that it brings text of others.
            self.mark(*resources)
            context = running_context()
            if context is not None and context.origins():
                for path in paths:
                    self._identify(path)

    def deleted(self, path: str, old: os.stat_result) -> None:
        """Forget the mark of a deleted file; `old` is its status before."""
        with suppress(MarksUnavailable):
            self._marks.clear((f"file:{path}",), _only_name(old))

    def _of_moved(self, folder: str) -> str | None:
        """Return why something that was moved or linked into a folder is text of others."""
        walk = Walk(self._folder, self._opener, depth=None, scan=self._limits.scan)
        try:
            for entry in walk.below(folder):
                if entry.kind == "link" and (why := self._of_link(entry.path)):
                    return why
                if entry.kind == "file" and (status := self._look(entry.path)) is not None:
                    file = Identity.of(status)
                    find = partial(self._marks.find, (), file)
                    if why := self._told(find, entry.path):
                        return why
        except OSError:
            return _UNKNOWN
        return None if walk.complete else _UNKNOWN

    def _of_link(self, path: str) -> str | None:
        try:
            real = real_path(self._folder, path, self._opener)
        except OSError:  # it leads nowhere, or out of the workspace
            return f"file of others: {path}"
        return self.of_file(real)

    def _identify(self, path: str, gone: Identity | None = None) -> None:
        """Record the identity of a marked file; if that fails, the mark stays bound to the path."""
        status = self._look(path)
        if status is not None and stat.S_ISREG(status.st_mode):
            with suppress(MarksUnavailable):
                self._marks.identify(f"file:{path}", Identity.of(status), gone)

    def _is_folder(self, path: str) -> bool:
        status = self._look(path)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def _saw(self, reasons: Iterable[str | None]) -> None:
        context = running_context()
        if context is None:
            return
        found = list(filter(None, reasons))
        # One reason suffices, and one that counts for all calls is preferred.
        why = min(found, key=lambda why: isinstance(why, ContainedTaint), default=None)
        if why is not None and why not in context.taints:
            context.taint(why)

    def _told(self, find: Callable[[], Mark | None], words: str) -> str | None:
        try:
            mark = find()
        except MarksUnavailable:
            return _UNKNOWN
        if mark is None:
            return None
        why = f"text of others in {words or mark.resource.partition(':')[2]}"
        return ContainedTaint(why) if mark.contained else why

    def _look(self, path: str) -> os.stat_result | None:
        try:
            return os.stat(path, dir_fd=self._folder, follow_symlinks=False)
        except (OSError, ValueError):
            return None

    def _made(self, path: str) -> list[str]:
        """Return a path that is written, and the missing folders above it."""
        made = [path]
        above = path.rpartition("/")[0]
        while above and self._look(above) is None:
            made.append(above)
            above = above.rpartition("/")[0]
        return made

    def _is_linked_from(self, status: os.stat_result) -> bool:
        """Return whether a file has another name among the files of others, or that is unknown."""
        wanted = status.st_dev, status.st_ino
        walk = Walk(self._folder, self._opener, depth=1, scan=self._limits.scan)
        for top in walk.below(HERE):
            if top.kind == "folder" and is_foreign(top.path, self._foreign):
                deep = Walk(self._folder, self._opener, depth=None, scan=self._limits.scan)
                for entry in deep.below(top.path):
                    found = self._look(entry.path)
                    if found is not None and (found.st_dev, found.st_ino) == wanted:
                        return True
                if not deep.complete:
                    return True
        return False


def _names(path: str) -> tuple[str, ...]:
    """Return the resources by which a file can be marked."""
    return (f"file:{path}", *(f"tree:{one}" for one in _with_parents(path)))


def _only_name(status: os.stat_result | None) -> Identity | None:
    """Return the identity of a file that vanishes with this name; `None` if it has another name."""
    return None if status is None or _has_other_names(status) else Identity.of(status)


def _with_parents(path: str) -> list[str]:
    """Return a path, the folders above it, and the workspace."""
    names = path.split("/")
    return [HERE, *("/".join(names[:end]) for end in range(1, len(names) + 1))]


def _has_other_names(status: os.stat_result) -> bool:
    return status.st_nlink > 1 and stat.S_ISREG(status.st_mode)
