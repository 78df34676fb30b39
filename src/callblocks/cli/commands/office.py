"""`callblocks workspace`: the office that tools work on: lay a sample, look at it, sign in.

Each command below it is imported when it is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

import click
import msgspec

from callblocks.cli.exits import EXIT_CODES, Refusal, say
from callblocks.cli.main import LazyGroup
from callblocks.cli.options.state_folder import GOOGLE, state_folder
from callblocks.cli.options.tool_setup import (
    given_office,
    office_option,
    open_workspace,
    workspace_option,
)
from callblocks.cli.terminal.paint import Paper
from callblocks.core.call_text import format_size
from callblocks.toolkits.office.backend import DOCUMENT, FOLDER, SPREADSHEET, Json, Office, Page
from callblocks.toolkits.office.tools.event_fields import shown_time
from callblocks.views.rows import Kind
from callblocks.views.terminal.tables import Line, PartTable, part_rows

__all__ = (
    "PARTS",
    "OfficePart",
    "command",
    "connect_google",
    "forget_google",
    "lay_sample",
    "read_part",
    "show_office",
)

COMMANDS = {
    "init": (
        "callblocks.cli.commands.office:lay_sample",
        "Lay a small sample office to try things on.",
    ),
    "show": (
        "callblocks.cli.commands.office:show_office",
        "Show mail, files, events, tasks and the like.",
    ),
    "connect": (
        "callblocks.cli.commands.office:connect_google",
        "Sign in at Google Workspace.",
    ),
    "forget": (
        "callblocks.cli.commands.office:forget_google",
        "Sign out at Google Workspace.",
    ),
}


@click.group(
    "workspace",
    cls=LazyGroup,
    table=COMMANDS,
    short_help="Lay, show and connect mail, files, events and tasks.",
    epilog=EXIT_CODES,
)
def command() -> None:
    """Lay, show and connect the office: mail, files, events, documents, sheets and tasks.

    It is the folder office/ in the workspace, in formats that ordinary programs read, or with
    --office google an account of Google Workspace.
    """


# --- `callblocks workspace init`: a sample office, in one command ---


@click.command("init", short_help="Lay a small sample office to try things on.")
@workspace_option
def lay_sample(workspace: str) -> None:
    """Lay a small sample office in the folder office/ of the workspace.

    It is that of a ferry to an island, in November 2026: mail, files, two calendars, documents,
    spreadsheets and tasks. An office that is there already is not touched.
    """
    from callblocks.core.errors import CallerError
    from callblocks.toolkits.office.open_office import FOLDER
    from callblocks.toolkits.office.sample_office import lay_office

    folder = Path(workspace) / FOLDER
    try:
        lay_office(folder)
    except CallerError:
        words = f"{folder} is there already, and stays as it is; choose another folder: -w"
        raise Refusal(words) from None
    paper = Paper()
    paper.print([(("plain", line),) for line in _told(folder, workspace)])


def _told(folder: Path, workspace: str) -> list[str]:
    from callblocks.toolkits.office.sample_office import calendars, files, mails, task_lists

    kinds = [file.mime_type for file in files()]
    events = sum(len(one.events) for one in calendars())
    tasks = sum(len(one.tasks) for one in task_lists())
    natives = {kind: kinds.count(kind) for kind in ("folder", "document", "spreadsheet")}
    plain = len(kinds) - sum(natives.values())
    where = "" if workspace == "." else f" -w {_quoted(workspace)}"
    return [
        f"{folder} has now:",
        f"  {len(list(mails()))} mails",
        f"  {plain} files, {natives['document']} documents and {natives['spreadsheet']} "
        f"spreadsheets, in {natives['folder']} folders and outside of them",
        f"  {events} events in {len(calendars())} calendars, "
        f"{tasks} tasks in {len(task_lists())} lists",
        "",
        "Try:",
        f"  callblocks workspace show{where}",
        "  callblocks tools gmail_search",
        "  echo '🛠️[gmail_search from:camille]🛠️[/end]' |"
        f" callblocks run --allow-trait read_only{where}",
    ]


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


# --- `callblocks workspace show`: what an office holds, as tables or as JSON ---

_PARTS = ("mail", "drive", "calendar", "tasks", "sheets", "docs")
_FEW, _MANY = 3, 100


@click.command("show", short_help="Show mail, files, events, tasks and the like.")
@click.argument("part", nargs=-1, type=click.Choice(_PARTS), metavar="[PART]...")
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, 10_000),
    help=f"Lines of each part.  [default: {_FEW}; where PART is given: {_MANY}]",
)
@click.option("--json", "as_json", is_flag=True, help="One object: lists in Google's shape.")
@workspace_option
@office_option
def show_office(
    part: tuple[str, ...], limit: int | None, as_json: bool, workspace: str, office: str
) -> None:
    """Show what an office holds: all parts in short, or each PART that is named.

    PART is mail, drive, calendar, tasks, sheets or docs. What is newest comes first; events and
    tasks stand in their order, the next events first; after the last one, the last.
    """
    from callblocks.core.errors import ToolError
    from callblocks.toolkits.office.open_office import has_office, local_office

    lines = limit or (_MANY if part else _FEW)
    with open_workspace(workspace) as root:
        given = given_office(office)
        absent = given is None and not has_office(root)
        opened = given or local_office(root)
        try:
            read = {name: read_part(opened, name, lines) for name in part or _PARTS}
        except ToolError as error:
            raise Refusal(f"{error.code}: {error.message}") from error
    if as_json:
        found = {name: one.resources for name, one in read.items()}
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    elif absent:
        Paper().print([(("plain", "no office here; callblocks workspace init makes a sample"),)])
    else:
        paper = Paper()
        for at, one in enumerate(read.values()):
            paper.print([*([()] if at else []), *part_rows(one.table, paper.width)])
    for fault in dict.fromkeys(fault for one in read.values() for fault in one.faults):
        say(fault)


# --- What `callblocks workspace show` reads of an office, part by part ---
#
# mail, drive, calendar, tasks, sheets, docs

_Shown: TypeAlias = tuple[Line, Json]
_PAGE = 100
_MARKS = {"UNREAD": "●", "STARRED": "★"}
_MAIL: tuple[Kind, ...] = ("quiet", "mark", "name", "plain", "mark")


class OfficePart(msgspec.Struct, frozen=True):
    """A part that was read: as a table, as Google's resources, and what could not be read."""

    table: PartTable
    resources: list[Json]
    faults: tuple[str, ...] = ()


def read_part(office: Office, name: str, limit: int) -> OfficePart:
    """Read one of `PARTS`, with at most so many lines."""
    return PARTS[name](office, limit)


def _mail(office: Office, limit: int) -> OfficePart:
    def page(token: str, size: int) -> Page:
        return office.mail.messages(query="", labels=(), spam_trash=False, limit=size, page=token)

    found, count = _some(page, limit)
    faults = (*found.faults, *getattr(office.mail, "faults", ()))
    lines = [_mail_line(one) for one in found.items]
    table = PartTable("Mail", count, lines, _MAIL, flexible=2)
    return OfficePart(table, found.items, faults)


def _mail_line(message: Json) -> Line:
    headers = {one["name"].lower(): one["value"] for one in message["payload"]["headers"]}
    labels: list[str] = message.get("labelIds", [])
    marks = "".join(mark if name in labels else " " for name, mark in _MARKS.items())
    sender = headers.get("from", "").partition("<")[0].strip(' "') or headers.get("from", "")
    subject = headers.get("subject", "")
    return (_moment(headers.get("date", "")), marks, subject, sender, message["id"])


def _moment(date: str) -> str:
    """Return the date and time of a mail in the sender's time zone."""
    from email.utils import parsedate_to_datetime

    try:
        return f"{parsedate_to_datetime(date):%Y-%m-%d %H:%M}"
    except ValueError:
        return "-" * 16


def _drive(office: Office, limit: int) -> OfficePart:
    found, count = _files(office, "trashed = false", limit)
    lines = [
        (_minute(one["modifiedTime"]), one["name"], _type(one["mimeType"]), _size(one), one["id"])
        for one in found.items
    ]
    return OfficePart(PartTable("Drive", count, lines), found.items, found.faults)


def _files(office: Office, query: str, limit: int) -> tuple[Page, str]:
    def page(token: str, size: int) -> Page:
        return office.drive.files(query=query, order="modifiedTime desc", limit=size, page=token)

    return _some(page, limit)


def _type(mime: str) -> str:
    native = {FOLDER: "folder", DOCUMENT: "document", SPREADSHEET: "spreadsheet"}
    return native.get(mime, mime)


def _size(file: Json) -> str:
    return format_size(int(file["size"])) if "size" in file else ""


def _calendar(office: Office, limit: int) -> OfficePart:
    calendars = _all(lambda token: office.calendars.calendars(limit=_PAGE, page=token))
    today = f"{date.today()}"
    coming: list[_Shown] = []
    past: list[_Shown] = []
    faults = calendars.faults
    for calendar in calendars.items:
        events = _all(partial(_events, office, calendar["id"]))
        starts = _next_starts(office, calendar["id"], today)
        faults += events.faults
        for event in events.items:
            # One table has one clock for each calendar: its own.
            zone = calendar.get("timeZone", "")
            start = shown_time(starts.get(event["id"]) or event.get("start", {}), zone)
            line = _event_line(calendar, event, start)
            ahead = event["id"] in starts or line[0][:10] >= today
            (coming if ahead else past).append((line, {"calendarId": calendar["id"], **event}))
    count = f"{len(coming) + len(past)} in {_counted(len(calendars.items), 'calendar')}"
    chosen = _next(sorted(coming, key=_start), sorted(past, key=_start), limit)
    table = PartTable("Calendar", count, [line for line, _ in chosen])
    return OfficePart(table, [event for _, event in chosen], faults)


def _events(office: Office, calendar_id: str, token: str, since: str = "") -> Page:
    """Events, each series once; with `since` those of that time or later, each by itself."""
    return office.calendars.events(
        calendar_id,
        time_min=since,
        time_max="",
        query="",
        single=bool(since),
        zone="",
        limit=_PAGE,
        page=token,
    )


def _next_starts(office: Office, calendar_id: str, today: str) -> dict[str, Json]:
    """Return the next start of each event or series that is still to come, by its id."""
    starts: dict[str, Json] = {}
    for one in _events(office, calendar_id, "", f"{today}T00:00:00Z").items:
        starts.setdefault(one.get("recurringEventId") or one["id"], one.get("start", {}))
    return starts


def _next(coming: list[_Shown], past: list[_Shown], limit: int) -> list[_Shown]:
    """The next events from today on, then the last of those before."""
    room = limit - len(coming)
    return coming[:limit] + (past[-room:] if room > 0 else [])


def _start(one: _Shown) -> str:
    return one[0][0]


def _event_line(calendar: Json, event: Json, start: Json) -> Line:
    when = start.get("date") or _minute(start.get("dateTime", ""))
    again = "again and again" if "recurrence" in event else ""
    return (when, event.get("summary", ""), _held_in(calendar, "summary"), again, event["id"])


def _tasks(office: Office, limit: int) -> OfficePart:
    lists = _all(lambda token: office.tasks.lists(limit=_PAGE, page=token)).items
    found: list[tuple[Line, Json]] = []
    for held in lists:
        for task in _tasks_of(office, held["id"]):
            due = task.get("due", "")[:10] or " " * 10
            done = "done" if task.get("status") == "completed" else ""
            line = (due, task.get("title", ""), _held_in(held, "title"), done, task["id"])
            found.append((line, {"taskListId": held["id"], **task}))
    count = f"{len(found)} in {_counted(len(lists), 'list')}"
    table = PartTable("Tasks", count, [line for line, _ in found[:limit]])
    return OfficePart(table, [task for _, task in found[:limit]])


def _held_in(holder: Json, name: str) -> str:
    """A calendar or a list by its name, and the id that a tool takes."""
    return f"{holder.get(name, '')} ({holder['id']})"


def _tasks_of(office: Office, list_id: str) -> list[Json]:
    return _all(
        lambda token: office.tasks.tasks(
            list_id, completed=True, due_min="", due_max="", limit=_PAGE, page=token
        )
    ).items


def _sheets(office: Office, limit: int) -> OfficePart:
    found, count = _files(office, f"mimeType = '{SPREADSHEET}' and trashed = false", limit)
    lines: list[Line] = []
    shown: list[Json] = []
    for file in found.items:
        spreadsheet = office.sheets.spreadsheet(file["id"])
        shown.append(spreadsheet)
        titles = [one["properties"]["title"] for one in spreadsheet.get("sheets", [])]
        lines.append((_minute(file["modifiedTime"]), file["name"], ", ".join(titles), file["id"]))
    table = PartTable("Sheets", count, lines, kinds=("quiet", "name", "plain", "mark"))
    return OfficePart(table, shown, found.faults)


def _docs(office: Office, limit: int) -> OfficePart:
    found, count = _files(office, f"mimeType = '{DOCUMENT}' and trashed = false", limit)
    lines = [(_minute(one["modifiedTime"]), one["name"], one["id"]) for one in found.items]
    table = PartTable("Docs", count, lines, kinds=("quiet", "name", "mark"))
    return OfficePart(table, found.items, found.faults)


def _some(page: Callable[[str, int], Page], limit: int) -> tuple[Page, str]:
    """The first items, and how many there are: those of one page are counted, no more."""
    first = page("", max(limit, _PAGE))
    count = f"{len(first.items)}{'+' if first.next else ''}"
    return Page(first.items[:limit], faults=first.faults), count


def _all(page: Callable[[str], Page]) -> Page:
    """Every page as one."""
    found = page("")
    items, faults = list(found.items), found.faults
    while found.next:
        found = page(found.next)
        items += found.items
        faults += found.faults
    return Page(items, faults=faults)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _minute(moment: str) -> str:
    """`2026-11-13 12:00`, as it is written."""
    try:
        return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M}"
    except ValueError:
        return moment[:16]


PARTS: dict[str, Callable[[Office, int], OfficePart]] = {
    "mail": _mail,
    "drive": _drive,
    "calendar": _calendar,
    "tasks": _tasks,
    "sheets": _sheets,
    "docs": _docs,
}
"""What there is to show."""


# --- `callblocks workspace connect`: let callblocks in at Google Workspace ---


@click.command("connect", short_help="Sign in at Google Workspace.")
@click.argument("client_file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--only",
    multiple=True,
    metavar="TOOL",
    help="Ask for what this tool needs, and no more; a pattern such as gmail_*; may be given"
    " again.  [default: all]",
)
@click.option("--browser/--no-browser", default=True, help="Open a browser, where there is one.")
def connect_google(client_file: Path, only: tuple[str, ...], browser: bool) -> None:
    """Sign in at Google Workspace, so that --office google works on your account.

    CLIENT_FILE is the JSON file of an OAuth client of the type "Desktop app", from Google's
    console. What you allow is kept in the state folder, for you alone to read.
    """
    from callblocks.core.errors import ToolError
    from callblocks.toolkits.office.open_office import require_google

    require_google()
    from callblocks.toolkits.office.google.auth import connect

    try:
        address = connect(
            client_file, state_folder() / GOOGLE, _names(only), open_browser=browser, say=_say
        )
    except ToolError as error:
        raise Refusal(f"{error.code}: {error.message}") from error
    _say(f"Connected{f' as {address}' if address else ''}. Use it by --office google.")


def _names(only: tuple[str, ...]) -> list[str]:
    from fnmatch import fnmatchcase

    from callblocks.toolkits.office.open_office import OFFICE_TOOLS

    chosen = [
        name for name in OFFICE_TOOLS if not only or any(fnmatchcase(name, one) for one in only)
    ]
    if not chosen:
        raise click.BadParameter(f"no tool of the office is called {', '.join(only)}")
    return chosen


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


# --- `callblocks workspace forget`: end what was allowed at Google Workspace ---


@click.command("forget", short_help="Sign out at Google Workspace.")
def forget_google() -> None:
    """Sign out: what was allowed ends at Google, and its file is removed here."""
    from callblocks.core.errors import ToolError
    from callblocks.toolkits.office.open_office import require_google

    require_google()
    from callblocks.toolkits.office.google.auth import forget

    try:
        was_there = forget(state_folder() / GOOGLE)
    except ToolError as error:
        raise Refusal(f"{error.code}: {error.message}") from error
    sys.stdout.write("Signed out.\n" if was_there else "No account was connected.\n")
