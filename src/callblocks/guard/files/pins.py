"""Pins: a call resolves each of its paths once, and uses that result until it ends.

    gate    file_read link/a.md     real path notes/a.md, folder (8:2, 41), file (8:2, 97)
            link is turned to secrets/
    tool    root.read("link/a.md")  opens notes/a.md without following a link: folder 41? file 97?

The race that pins close: a policy judges the real path of a file, and the tool opens the file
later, by the name that the call gave. If the tool resolved that name again, an attacker who turns a
link in between would choose the file. So the gate stores a pin of each path that it resolves, and
`Root` uses the pin instead of the name for as long as the call is judged, shown and run. A path
that first appears inside a tool is pinned when it is first resolved, so that the path judged there
is also the path read.

A pin holds the real path, and the identity (device and inode) of the file and of the folder that
holds it. The real path alone defeats turned links. The identities defeat whatever is renamed to
that path meanwhile: a hard link, another file, another folder. Identities are compared on the
opened descriptor, never on a name. Where the folder does not exist yet, the deepest existing folder
counts.

The scope of a call is a context variable, so threads and tasks that a tool starts inherit it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.real_path import HERE, STEP, Opener, look_if_there, open_folder

__all__ = ("CallFiles", "Identity", "Pin", "call_files", "in_call", "is_hidden", "take_pin")

# Device and inode.
Identity: TypeAlias = tuple[int, int]


class Pin(msgspec.Struct, frozen=True):
    """The target of a path when it was resolved: its real path, and the identity of the file there.

    `anchor` is the deepest existing folder above it, `folder` the identity of that folder. `found`
    is the identity of the entry at the path, `None` where there was none; `version` is its size and
    the time of its last change. `is_binding` is false outside of calls: no policy judged the path
    there, so another program may replace the file at any time.
    """

    real: str
    anchor: str
    folder: Identity
    found: Identity | None
    version: tuple[int, int]
    is_binding: bool = True

    @contextmanager
    def parent(
        self, path: str, root: int, opener: Opener, *, make: bool = False
    ) -> Generator[tuple[int, str], None, None]:
        """Open the folder that holds the path, if it is the pinned one; yield it and the name."""
        above, name = _split(self.real)
        opened = open_folder(root, self.anchor, opener=opener)
        try:
            if self.is_binding and _identity(os.fstat(opened)) != self.folder:
                raise _changed(path)
            # Folders below the anchor did not exist when the path was judged, so they have no
            # identity to compare. They are opened from the anchor's descriptor without following a
            # link.
            if above != self.anchor:
                rest = above if self.anchor == HERE else above[len(self.anchor) + 1 :]
                below = open_folder(opened, rest, opener=opener, make=make)
                os.close(opened)
                opened = below
            yield opened, name
        finally:
            os.close(opened)

    def require(self, path: str, status: os.stat_result | None) -> None:
        """Raise `path_changed` unless this is the status of the pinned entry."""
        if self.is_binding and (None if status is None else _identity(status)) != self.found:
            raise _changed(path)


def take_pin(root: int, real: str, opener: Opener) -> Pin:
    """Return the pin of a real path below an open folder; `OSError` where a link is in it now."""
    above, name = _split(real)
    anchor = above
    # Climb to the deepest folder that exists. It ends at the root, which is always there.
    while (folder := _open_if_there(root, anchor, opener)) is None:
        anchor = _split(anchor)[0]
    try:
        held = _identity(os.fstat(folder))
        found = look_if_there(folder, name) if anchor == above else None
    finally:
        os.close(folder)
    if found is None:
        return Pin(real, anchor, held, None, (0, 0))
    return Pin(real, anchor, held, _identity(found), (found.st_size, found.st_mtime_ns))


class CallFiles(msgspec.Struct, eq=False):
    """The files of one call: its pins by root and path, and a test for paths that the policy hides.

    A path that could not be resolved keeps its failure, so it cannot start to lead somewhere later.
    """

    pins: dict[tuple[object, str], Pin | ToolError] = {}
    hides: Callable[[str], bool] | None = None
    is_call: bool = True

    def pinned(self, root: object, path: str, resolve: Callable[[], Pin]) -> Pin:
        """Return the pin of a path; call `resolve` only the first time."""
        kept = self.pins.get((root, path))
        if kept is None:
            try:
                kept = msgspec.structs.replace(resolve(), is_binding=self.is_call)
            except ToolError as error:
                # A failure is cached like a pin: a path that did not resolve when it was judged
                # must not resolve when it is used.
                kept = error
            self.pins[root, path] = kept
        if isinstance(kept, ToolError):
            raise ToolError(kept.code, kept.message)
        return kept

    def seen(self) -> tuple[tuple[str, Identity | None, tuple[int, int]], ...]:
        """Return the entry at each path, for an approval that showed it."""
        pins = (pin for pin in self.pins.values() if isinstance(pin, Pin))
        return tuple(sorted(((pin.real, pin.found, pin.version) for pin in pins), key=str))


_current: ContextVar[CallFiles | None] = ContextVar("callblocks_call_files", default=None)


@contextmanager
def in_call(files: CallFiles) -> Generator[CallFiles, None, None]:
    """Resolve paths for one call inside this block; threads and tasks started inside inherit it."""
    token = _current.set(files)
    try:
        yield files
    finally:
        _current.reset(token)


def call_files() -> CallFiles:
    """Return the files of the current call; outside of calls, new ones each time."""
    return _current.get() or CallFiles(is_call=False)


def is_hidden(path: str) -> bool:
    """Return whether the policy denies the current call to read at a real path."""
    hides = call_files().hides
    return hides is not None and hides(path)


def _open_if_there(root: int, path: str, opener: Opener) -> int | None:
    try:
        return opener(root, path, STEP | os.O_DIRECTORY)
    except FileNotFoundError:
        if path == HERE:
            raise
        return None


def _split(path: str) -> tuple[str, str]:
    above, _, name = path.rpartition("/")
    return above or HERE, name


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _changed(path: str) -> ToolError:
    words = "something else took its place after the call was judged; look again, then call again"
    return ToolError("path_changed", f"{brief(path)}: {words}")
