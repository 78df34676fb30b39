"""Origins of the files of a workspace: those with text of others, and where that is marked."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.globs import holds_path
from callblocks.guard.files.real_path import HERE, STATE, FileLimits, Opener, Walk, real_path
from callblocks.guard.files.replace_file import foreign_journal
from callblocks.policy.rules import ContainedTaint
from callblocks.tools.tool import RUNNING_CALL

if TYPE_CHECKING:
    # Most workspaces have no marks: the module is loaded by the first use of a file of them.
    import sqlite3


__all__ = (
    "FOREIGN",
    "Identity",
    "Mark",
    "Marks",
    "MarksUnavailable",
    "Origins",
    "is_foreign",
)

# --- Marks of text of others, in `.callblocks/origins.sqlite` of a workspace ---
#
#     origins   resource   file:notes/a.md, tree:plans, task:ID, index:notes/a.md, tools:
#                          moved:8-97-1700  a file that lies elsewhere than where it was written
#               reason     why it was marked, for people who look
#               contained  1 where all reasons came of sandboxed commands alone
#               device, inode, changed   the file that was written, so that a new name is known
#
# The file is made by the first mark: a workspace in which nothing of others was stored has none.
# Deleting it forgets all marks. A commit is on disk before `put` returns.
#
# A workspace may come from others, and this file with it. One that has other tables, or a trigger
# that drops marks again, is refused as a whole: nothing can be looked up, which counts as marked.

_NAME = "origins.sqlite"
_LONGEST = 500
_WAIT = 10.0
_TABLE = """CREATE TABLE origins (
    resource TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    contained INTEGER NOT NULL,
    device INTEGER,
    inode INTEGER,
    changed INTEGER
) STRICT"""
_INDEX = "CREATE INDEX origins_by_file ON origins (inode)"
# A reason that counts for all calls is never replaced by one that counts for fewer: `contained`
# only ever goes from 1 to 0. An attacker could otherwise weaken a mark by storing again.
_PUT = """
insert into origins (resource, reason, contained) values (?, ?, ?)
on conflict (resource) do update set
    reason = excluded.reason, contained = min(contained, excluded.contained)
"""
# Keeps the mark of a file that lost its name without being deleted: the row is copied to a key made
# of its identity. Excluded are the file that is gone and the file that takes the name.
_MOVE = """
insert into origins (resource, reason, contained, device, inode, changed)
select 'moved:' || device || '-' || inode || '-' || changed,
    reason, contained, device, inode, changed
from origins
where resource = ? and inode is not null
    and not (device is ? and inode is ?) and not (device is ? and inode is ?)
on conflict (resource) do update set contained = min(contained, excluded.contained)
"""
_CLEAR = "delete from origins where resource = ?"
_THERE = "select 1 from origins where resource = ?"


class MarksUnavailable(Exception):
    """The file of marks cannot be read or written."""


class Identity(msgspec.Struct, frozen=True):
    """The identity of a file independent of its name: renaming and linking change none of these."""

    device: int
    inode: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """Return the identity of a file."""
        # SQLite's integers have a sign.
        return cls(_signed(status.st_dev), _signed(status.st_ino), _signed(status.st_mtime_ns))


class Mark(msgspec.Struct, frozen=True):
    """A note that a resource holds text of others; `contained` as in `ContainedTaint`."""

    resource: str
    contained: bool


class Marks:
    """The marks of one workspace; several programs may use them at once."""

    def __init__(self, workspace: Path) -> None:
        self._file = workspace / STATE / _NAME
        self._lock = threading.RLock()
        self._store: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = self._opened = None

    def put(self, resources: Iterable[str], reason: str, *, contained: bool) -> None:
        """Mark resources, on disk when this returns."""
        # The reason is only shown to people; a huge one from a hostile page must not fill the disk.
        words = reason[:_LONGEST].encode(errors="replace").decode()
        rows = [(_key(one), words, int(contained)) for one in resources]
        with self._made() as store, _changing(store):
            store.executemany(_PUT, rows)

    def identify(self, resource: str, file: Identity, gone: Identity | None = None) -> None:
        """Record the identity of a marked file, to find it under another name; `gone` as in
        `clear`.
        """
        with self._made() as store, _changing(store):
            store.execute(_MOVE, (_key(resource), *_number(gone), *_number(file)))
            store.execute(
                "update origins set device = ?, inode = ?, changed = ? where resource = ?",
                (file.device, file.inode, file.changed, _key(resource)),
            )

    def clear(self, resources: Iterable[str], gone: Identity | None = None) -> None:
        """Remove marks; `gone` is the file that no longer exists under any name.

        Any other file that was marked here has been moved, or has a second name: its mark stays
        with it, and is found by the file's identity.
        """
        keys = [_key(one) for one in resources]
        if gone is not None:
            keys.append(f"moved:{gone.device}-{gone.inode}-{gone.changed}")
        file = _number(gone)
        with self._using() as store:
            # Most resources have no mark, and a read takes no write lock.
            if store is not None and any(store.execute(_THERE, (key,)).fetchone() for key in keys):
                with _changing(store):
                    store.executemany(_MOVE, [(key, *file, *file) for key in keys])
                    store.executemany(_CLEAR, [(key,) for key in keys])

    def find(self, resources: Sequence[str], file: Identity | None = None) -> Mark | None:
        """Return the mark of one of these resources, or of the file with this identity."""
        holes = ", ".join("?" * len(resources))
        query = f"select resource, contained from origins where resource in ({holes})"
        with self._using() as store:
            if store is None:
                return None
            found = store.execute(query, [_key(one) for one in resources]).fetchall()
            if file is not None:
                # Second lookup, by identity: the file may have been renamed or hard-linked since it
                # was marked.
                found += store.execute(
                    "select resource, contained from origins"
                    " where inode = ? and device = ? and changed = ?",
                    (file.inode, file.device, file.changed),
                ).fetchall()
        return _weightiest(found)

    def find_below(self, prefix: str) -> Mark | None:
        """Return a mark of a resource whose name starts with `prefix`."""
        start = _key(prefix)
        with self._using() as store:
            if store is None:
                return None
            found = store.execute(
                "select resource, contained from origins"
                " where substr(resource, 1, ?) = ? order by contained limit 1",
                (len(start), start),
            ).fetchall()
        return _weightiest(found)

    @contextmanager
    def _using(self) -> Generator[sqlite3.Connection | None]:
        """Use the file; `None` where there is none."""
        with self._lock:
            try:
                yield self._open()
            except _faults() as error:
                raise MarksUnavailable(f"{STATE}/{_NAME} cannot be used: {error}") from error

    @contextmanager
    def _made(self) -> Generator[sqlite3.Connection]:
        """Use the file; it is made where there is none."""
        with self._lock:
            try:
                self._make()
                store = self._open()
                assert store is not None, "it was made"
                yield store
            except _faults() as error:
                raise MarksUnavailable(f"{STATE}/{_NAME} cannot be used: {error}") from error

    def _open(self) -> sqlite3.Connection | None:
        """Return the open file; open it anew where another file has taken its name."""
        there = self._look()
        if there != self._opened or self._store is None:
            self.close()
            if there is not None:
                self._store = _connect(self._file)
                self._opened = there
        return self._store

    def _look(self) -> tuple[int, int] | None:
        """Return the identity of the file; links are not followed."""
        try:
            folder, file = self._file.parent.lstat(), self._file.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISDIR(folder.st_mode) or not stat.S_ISREG(file.st_mode):
            raise OSError("it is a link, and links are not followed")
        return file.st_dev, file.st_ino

    def _make(self) -> None:
        """Create the folder and an empty file, private and ignored by git."""
        if self._look() is not None:
            return
        folder = self._file.parent
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if folder.is_symlink():
            raise OSError("it is a link, and links are not followed")
        # Never open an existing file: closing it would drop this process's POSIX locks on it.
        for name, content in ((".gitignore", b"*\n"), (_NAME, b"")):
            with suppress(FileExistsError):
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
                made = os.open(folder / name, flags, 0o600)
                try:
                    os.write(made, content)
                finally:
                    os.close(made)


def _faults() -> tuple[type[Exception], ...]:
    """Return the exceptions that a file of marks may raise; imported only when one was raised."""
    import sqlite3

    return sqlite3.Error, OSError


def _connect(file: Path) -> sqlite3.Connection:
    import sqlite3

    # A workspace may be untrusted, so the journal beside its database is checked first.
    if wrong := foreign_journal(file):
        raise OSError(wrong)
    store = sqlite3.connect(file, timeout=_WAIT, isolation_level=None, check_same_thread=False)
    try:
        store.execute("pragma trusted_schema = off")
        store.execute("pragma journal_mode = truncate")
        store.execute("pragma synchronous = full")
        _set_up(store)
    except BaseException:
        store.close()
        raise
    return store


def _set_up(store: sqlite3.Connection) -> None:
    """Create the tables of an empty file; refuse a file with any other schema."""
    if not _tables(store):
        with _changing(store):
            # Another program may have been faster.
            if not _tables(store):
                store.execute(_TABLE)
                store.execute(_INDEX)
    # Compared as exact SQL text: a view or a trigger under a known name could drop marks.
    if _tables(store) != {_TABLE, _INDEX}:
        raise OSError("it has other tables; delete the file")


def _tables(store: sqlite3.Connection) -> set[str]:
    rows = store.execute("select sql from sqlite_schema where sql is not null").fetchall()
    return {sql for (sql,) in rows}


@contextmanager
def _changing(store: sqlite3.Connection) -> Generator[None]:
    """Make all changes inside of one transaction, or none."""
    store.execute("begin immediate")
    try:
        yield
        store.execute("commit")
    except BaseException:
        with suppress(*_faults()):
            store.execute("rollback")
        raise


def _weightiest(found: list[tuple[str, int]]) -> Mark | None:
    """Return the mark that counts for the most calls."""
    marks = [Mark(resource, bool(contained)) for resource, contained in found]
    return min(marks, key=lambda mark: mark.contained, default=None)


def _key(resource: str) -> str:
    """Return a name that SQLite can store: a file name may hold bytes that are no text."""
    return resource.encode(errors="backslashreplace").decode()


def _number(file: Identity | None) -> tuple[int | None, int | None]:
    """Return device and inode; the time is left out, because it changes when a file is edited in
    place.
    """
    return (None, None) if file is None else (file.device, file.inode)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


# --- Origins of a workspace ---
#
#     with origins.reading("notes/a.md"):        taints the running call, where the file is marked
#         …
#     with origins.writing("notes/a.md"):        marks the file first, where the call is tainted
#         …
#
# The attack: a web page makes the model store an instruction in a file; a later, clean turn reads
# the file and obeys. So taint must survive on disk. Two things make a file one of others: its
# location (`FOREIGN`), and a mark. A mark is attached to the real path and to the file's identity,
# so links lead to it, and renaming does not lose it. A file that a clean call writes whole, or
# deletes, loses its mark afterwards; a file that was moved away before keeps it.
#
# The current call comes from `RUNNING_CALL`: a tool that works on the workspace does nothing for
# all this, and cannot forget it. Outside of a call nothing is tainted or marked.
#
# Both directions fail closed: a mark that cannot be looked up counts as present, and a mark that
# cannot be written stops the write.

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
        context = RUNNING_CALL.get()
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
        if RUNNING_CALL.get() is None:
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
        # The names of folders created on the way are text, too.
        made = [f"file:{one}" for one in self._made(path)]
        old = self._look(path)
        context = RUNNING_CALL.get()
        if context is None:
            yield
            return
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
            context = RUNNING_CALL.get()
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
        context = RUNNING_CALL.get()
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
