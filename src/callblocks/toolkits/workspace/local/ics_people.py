"""Those who attend: `ATTENDEE;CN=Ada;PARTSTAT=ACCEPTED:mailto:ada@example.org` and Google's form.

{"email": "ada@example.org", "displayName": "Ada", "responseStatus": "accepted"}
"""

# The library types what a property holds as loosely as iCalendar does.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from typing import Any

from icalendar import Event, vCalAddress, vText

from callblocks.toolkits.workspace.backend import Json

__all__ = ("read_people", "read_person", "write_organizer", "write_people")

_ANSWERS = {
    "NEEDS-ACTION": "needsAction",
    "ACCEPTED": "accepted",
    "DECLINED": "declined",
    "TENTATIVE": "tentative",
}
_STATES = {answer: state for state, answer in _ANSWERS.items()}
# Characters that a parameter value cannot hold.
_UNSAYABLE = re.compile('["\x00-\x1f\x7f]')


def read_person(found: Any) -> Json:
    """Return the person of an ORGANIZER or ATTENDEE; {} if it names nobody."""
    if found is None or isinstance(found, list):
        return {}
    address = str(found)
    email = address[7:] if address[:7].lower() == "mailto:" else address
    if not email:
        return {}
    name = _parameter(found, "CN")
    return {"email": email, "displayName": name} if name and name != email else {"email": email}


def read_people(found: list[Any]) -> list[Json]:
    """Return the attendees with their answers."""
    people: list[Json] = []
    for one in found:
        person = read_person(one)
        if not person:
            continue
        if _parameter(one, "ROLE").upper() == "OPT-PARTICIPANT":
            person["optional"] = True
        if _parameter(one, "CUTYPE").upper() in ("RESOURCE", "ROOM"):
            person["resource"] = True
        state = _parameter(one, "PARTSTAT").upper() or "NEEDS-ACTION"
        person["responseStatus"] = _ANSWERS.get(state, "needsAction")
        people.append(person)
    return people


def write_people(event: Event, people: Any) -> None:
    """Replace the attendees; those who stay keep their other parameters."""
    found = event.pop("ATTENDEE", None) or []
    known = {
        read_person(one).get("email", "").casefold(): one
        for one in (found if isinstance(found, list) else [found])
    }
    for person in people or []:
        old = known.get(str(person["email"]).casefold())
        event.add("ATTENDEE", _address(person, old), encode=False)


def write_organizer(event: Event, person: Any) -> None:
    """Set the organizer."""
    event.pop("ORGANIZER", None)
    if person:
        event.add("ORGANIZER", vCalAddress(f"mailto:{person['email']}"), encode=False)


def _address(person: Json, old: Any) -> vCalAddress:
    address = vCalAddress(f"mailto:{person['email']}")
    if old is not None:
        address.params.update(old.params)
    name = _UNSAYABLE.sub(" ", str(person.get("displayName") or "")).strip()
    if name:
        address.params["CN"] = vText(name)
    address.params["PARTSTAT"] = vText(
        _STATES.get(person.get("responseStatus", ""), "NEEDS-ACTION")
    )
    address.params["ROLE"] = vText(
        "OPT-PARTICIPANT" if person.get("optional") else "REQ-PARTICIPANT"
    )
    return address


def _parameter(found: Any, name: str) -> str:
    value = found.params.get(name, "")
    return str(value[0] if isinstance(value, list) and value else value)
