"""The paths of files that are named by ids, so that path rules apply to them too.

    drive_read 1AbC…      office/drive/secret/plan.md

A local office is a folder of the workspace: a rule about `office/drive/secret/**` applies to these
files whichever tool reaches them. Files elsewhere have no path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Office, Page
from callblocks.tools.context import Context
from callblocks.tools.tool import Paths

__all__ = ("Placed", "new_path", "paths_of", "reaching", "readable_page", "require_readable")


@runtime_checkable
class Placed(Protocol):
    """A drive whose files are in the workspace."""

    def paths(self, file_ids: Iterable[str], *, below: bool = False) -> list[list[str]]:
        """Return the paths of each file, and with `below` of all that is in it."""
        ...

    def new_path(self, folder_id: str, name: str, mime: str) -> str:
        """Return the path that a new file would get."""
        ...


def reaching(office: Office, *fields: str, below: bool = False) -> Paths | None:
    """Return the function that gives a policy the paths of files named by these parameters."""
    # A shared office is remote: asking its drive would send a request before the policy has
    # decided.
    if getattr(office, "is_shared", False):
        return None

    def paths(given: dict[str, Any]) -> Sequence[str]:
        return paths_of(office, *(str(given[one]) for one in fields if given.get(one)), below=below)

    return paths


def paths_of(office: Office, *file_ids: str, below: bool = False) -> list[str]:
    """Return the paths of these files; none if they are not in the workspace."""
    drive = office.drive
    if not isinstance(drive, Placed) or not file_ids:
        return []
    return [path for paths in drive.paths(file_ids, below=below) for path in paths]


def new_path(office: Office, folder_id: str, name: str, mime: str) -> list[str]:
    """Return the path that a new file would get, if it is in the workspace."""
    if getattr(office, "is_shared", False):
        return []
    drive = office.drive
    try:
        return [drive.new_path(folder_id, name, mime)] if isinstance(drive, Placed) else []
    except ToolError:  # there is no such folder, as the call itself will say
        return []


def require_readable(office: Office, context: Context, *file_ids: str, below: bool = False) -> None:
    """Raise `policy_denied` for a file that the policy does not let the call read."""
    for path in paths_of(office, *file_ids, below=below):
        refusal = context.path_refusal(path)
        if refusal is not None:
            raise ToolError("policy_denied", refusal)


def readable_page(page: Page, context: Context) -> Page:
    """Return the page without files that the policy does not let the call read."""
    if not page.paths:
        return page
    # All paths of a file must be readable: a trashed file counts under its former path as well, so
    # a rule cannot be evaded by way of the trash.
    placed = zip(page.items, page.paths, strict=True)
    kept: list[Json] = [
        file for file, paths in placed if all(context.path_refusal(one) is None for one in paths)
    ]
    return msgspec.structs.replace(page, items=kept, paths=())
