"""The office on Google Workspace; each service is created at its first use."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from callblocks.toolkits.office.google.google_service import Service

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

    from callblocks.toolkits.office.google.calendar import GoogleCalendars, GoogleTasks
    from callblocks.toolkits.office.google.drive import GoogleDocuments, GoogleDrive, GoogleSheets
    from callblocks.toolkits.office.google.gmail import GoogleMail

__all__ = ("GoogleOffice",)

_Part = TypeVar("_Part")


class GoogleOffice:
    """All services of one account; `base` replaces Google's servers."""

    is_shared = True

    def __init__(
        self,
        credentials: Credentials,
        base: str = "",
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._credentials = credentials
        self._base = base
        self._sleep = sleep
        self._services: list[Service] = []
        self._parts: dict[Any, Any] = {}

    def close(self) -> None:
        """Close the connections that are kept open."""
        for service in self._services:
            service.close()

    def _part(self, kind: Callable[[Service], _Part], name: str, version: str) -> _Part:
        if kind not in self._parts:
            service = Service(name, version, self._credentials, base=self._base, sleep=self._sleep)
            self._services.append(service)
            self._parts[kind] = kind(service)
        return self._parts[kind]

    @property
    def mail(self) -> GoogleMail:
        """Gmail."""
        from callblocks.toolkits.office.google.gmail import GoogleMail

        return self._part(GoogleMail, "gmail", "v1")

    @property
    def drive(self) -> GoogleDrive:
        """Google Drive."""
        from callblocks.toolkits.office.google.drive import GoogleDrive

        return self._part(GoogleDrive, "drive", "v3")

    @property
    def calendars(self) -> GoogleCalendars:
        """Google Calendar."""
        from callblocks.toolkits.office.google.calendar import GoogleCalendars

        return self._part(GoogleCalendars, "calendar", "v3")

    @property
    def documents(self) -> GoogleDocuments:
        """Google Docs."""
        from callblocks.toolkits.office.google.drive import GoogleDocuments

        return self._part(GoogleDocuments, "docs", "v1")

    @property
    def sheets(self) -> GoogleSheets:
        """Google Sheets."""
        from callblocks.toolkits.office.google.drive import GoogleSheets

        return self._part(GoogleSheets, "sheets", "v4")

    @property
    def tasks(self) -> GoogleTasks:
        """Google Tasks."""
        from callblocks.toolkits.office.google.calendar import GoogleTasks

        return self._part(GoogleTasks, "tasks", "v1")
