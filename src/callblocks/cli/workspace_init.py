"""`callblocks workspace init`: a sample office, in one command."""

from __future__ import annotations

from pathlib import Path

import click

from callblocks.cli.exits import Refusal
from callblocks.cli.paint import Paper
from callblocks.cli.workplace import workspace_option

__all__ = ("command",)


@click.command("init", short_help="Lay a small sample office to try things on.")
@workspace_option
def command(workspace: str) -> None:
    """Lay a small sample office in the folder office/ of the workspace.

    It is that of a ferry to an island, in November 2026: mail, files, two calendars, documents,
    spreadsheets and tasks. An office that is there already is not touched.
    """
    from callblocks.model.errors import CallerError
    from callblocks.toolkits.workspace.opening import FOLDER
    from callblocks.toolkits.workspace.sample.laying import lay_office

    folder = Path(workspace) / FOLDER
    try:
        lay_office(folder)
    except CallerError:
        words = f"{folder} is there already, and stays as it is; choose another folder: -w"
        raise Refusal(words) from None
    paper = Paper()
    paper.print([(("plain", line),) for line in _told(folder, workspace)])


def _told(folder: Path, workspace: str) -> list[str]:
    from callblocks.toolkits.workspace.sample.content import calendars, files, mails, task_lists

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
