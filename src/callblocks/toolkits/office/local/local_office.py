"""The local office; each service is opened at its first use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from callblocks.guard.files.origins import Origins
    from callblocks.toolkits.office.local.calendar.calendars import LocalCalendars
    from callblocks.toolkits.office.local.drive.drive import LocalDocuments, LocalDrive
    from callblocks.toolkits.office.local.mail.mail import LocalMail
    from callblocks.toolkits.office.local.sheets import LocalSheets
    from callblocks.toolkits.office.local.tasks import LocalTasks

__all__ = ("INDEX", "LocalOffice", "is_office")

INDEX = ".index"

_Part = TypeVar("_Part")


class LocalOffice:
    """All services below one folder, which need not exist.

    `origins` are those of the workspace: writes of tainted calls are recorded there. Everything
    except tasks counts as foreign text in any case.
    """

    def __init__(self, folder: Path, origins: Origins | None = None) -> None:
        self.folder = folder
        self._origins = origins
        self._parts: dict[Any, Any] = {}

    @property
    def is_absent(self) -> bool:
        """True if nothing was ever put there."""
        return not is_office(self.folder)

    def _part(self, kind: Callable[..., _Part], *given: object) -> _Part:
        if kind not in self._parts:
            self._parts[kind] = kind(*given)
        return self._parts[kind]

    @property
    def mail(self) -> LocalMail:
        """Messages, in a Maildir."""
        from callblocks.toolkits.office.local.mail.mail import LocalMail

        return self._part(LocalMail, self.folder)

    @property
    def drive(self) -> LocalDrive:
        """Files and folders."""
        from callblocks.toolkits.office.local.drive.drive import LocalDrive

        return self._part(LocalDrive, self.folder)

    @property
    def calendars(self) -> LocalCalendars:
        """Events, as iCalendar files."""
        from callblocks.toolkits.office.local.calendar.calendars import LocalCalendars

        return self._part(LocalCalendars, self.folder)

    @property
    def documents(self) -> LocalDocuments:
        """Texts: Markdown files of the drive."""
        from callblocks.toolkits.office.local.drive.drive import LocalDocuments

        return self._part(LocalDocuments, self.drive)

    @property
    def sheets(self) -> LocalSheets:
        """Spreadsheets: SQLite files of the drive."""
        from callblocks.toolkits.office.local.sheets import LocalSheets

        return self._part(LocalSheets, self.drive)

    @property
    def tasks(self) -> LocalTasks:
        """Lists of tasks, in SQLite."""
        from callblocks.toolkits.office.local.tasks import LocalTasks

        return self._part(LocalTasks, self.folder, self._origins)


def is_office(folder: Path) -> bool:
    """Tell if a folder holds an office, and not only the index of a search."""
    try:
        return not set(os.listdir(folder)) <= {INDEX}
    except OSError:
        return False
