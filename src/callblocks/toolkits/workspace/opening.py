"""The choice of the office that the tools work on.

    local     the folder `office/` of the workspace; it is made by the first write
    google    Google Workspace, with the account that `callblocks workspace connect` let in

Neither is opened before a tool needs it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from callblocks.model.brief import brief
from callblocks.model.errors import CallerError
from callblocks.model.extras import require
from callblocks.runtime.files.root import Root
from callblocks.toolkits.workspace.backend import (
    Calendars,
    Documents,
    Drive,
    Mail,
    Office,
    Sheets,
    Tasks,
)

__all__ = (
    "FOLDER",
    "OFFICES",
    "LateOffice",
    "google_office",
    "has_office",
    "local_office",
    "open_office",
    "require_google",
)

OFFICES = ("local", "google")
# The folder of the local office in its workspace.
FOLDER = "office"


class LateOffice:
    """An office that is opened at its first use, once for all threads.

    `is_shared` says that others may see what is created in it.
    """

    def __init__(self, opened: Callable[[], Office], *, is_shared: bool = False) -> None:
        self.is_shared = is_shared
        self._open = opened
        self._opened: Office | None = None
        self._lock = threading.Lock()

    @property
    def _office(self) -> Office:
        # Tools run in worker threads. Without the lock two of them could open two offices, with two
        # caches and two sets of connections.
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    @property
    def is_absent(self) -> bool:
        """True if there is no office yet: a local one is created by the first write."""
        return getattr(self._office, "is_absent", False)

    @property
    def mail(self) -> Mail:
        return self._office.mail

    @property
    def drive(self) -> Drive:
        return self._office.drive

    @property
    def calendars(self) -> Calendars:
        return self._office.calendars

    @property
    def documents(self) -> Documents:
        return self._office.documents

    @property
    def sheets(self) -> Sheets:
        return self._office.sheets

    @property
    def tasks(self) -> Tasks:
        return self._office.tasks


def open_office(root: Root, choice: str, token: Path | None = None) -> Office:
    """Return the office of that name; `token` is the file of the Google sign-in."""
    if choice == "local":
        return local_office(root)
    if choice == "google":
        return google_office(token)
    raise CallerError(f"an office is one of {', '.join(OFFICES)}, not {brief(choice)}")


def local_office(root: Root) -> Office:
    """Return the office in a workspace."""

    def opened() -> Office:
        from callblocks.toolkits.workspace.local.office import LocalOffice

        return LocalOffice(Path(root.folder) / FOLDER, root.origins)

    return LateOffice(opened)


def has_office(root: Root) -> bool:
    """Tell if a workspace has an office, and not only the index of a search."""
    from callblocks.toolkits.workspace.local.office import is_office

    return is_office(root.folder / FOLDER)


def google_office(token: Path | None = None) -> Office:
    """Google Workspace; raises `MissingExtra` where its packages are not installed."""
    require_google()

    def opened() -> Office:
        from callblocks.toolkits.workspace.google.auth import load
        from callblocks.toolkits.workspace.google.office import GoogleOffice

        return GoogleOffice(load(token))

    return LateOffice(opened, is_shared=True)


def require_google() -> None:
    """Raise `MissingExtra` where the packages for Google are not installed."""
    require("google", "the office of Google")
