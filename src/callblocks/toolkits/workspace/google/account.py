"""The address of an account, requested from the first service that may tell it."""

from __future__ import annotations

from collections.abc import Collection

from google.auth.credentials import Credentials

from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.google.scopes import holds
from callblocks.toolkits.workspace.google.service import Service

__all__ = ("address_of",)


def address_of(credentials: Credentials, scopes: Collection[str], base: str = "") -> str:
    """Return the address; "" if no granted scope can tell it."""
    # No scope is requested for the address alone: the scopes that the tools need anyway suffice.
    for (name, version), tool, ask in _WAYS:
        if not holds(scopes, tool):
            continue
        service = Service(name, version, credentials, base=base)
        try:
            return ask(service)
        finally:
            service.close()
    return ""


def _by_mail(service: Service) -> str:
    profile = service.call(lambda api: api.users().getProfile(userId="me"))
    return str(profile.get("emailAddress", ""))


def _by_drive(service: Service) -> str:
    about = service.call(lambda api: api.about().get(fields="user(emailAddress)"))
    user: Json = about.get("user", {})
    return str(user.get("emailAddress", ""))


def _by_calendar(service: Service) -> str:
    # The id of a person's primary calendar is the person's address.
    calendar = service.call(lambda api: api.calendarList().get(calendarId="primary"))
    return str(calendar.get("id", ""))


_WAYS = (
    (("gmail", "v1"), "gmail_list", _by_mail),
    (("drive", "v3"), "drive_list", _by_drive),
    (("calendar", "v3"), "calendar_list", _by_calendar),
)
