"""Previews of trashing, restoring and moving a file, for the person who approves."""

from __future__ import annotations

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Office
from callblocks.toolkits.workspace.drive_query import And, Term, write_query
from callblocks.toolkits.workspace.drive_shown import kind_of
from callblocks.toolkits.workspace.drive_types import FOLDER
from callblocks.toolkits.workspace.real_paths import Placed
from callblocks.toolkits.workspace.told_change import whole

__all__ = ("inside_text", "moving_text", "restoring_text", "trashing_text")

_COUNTED = 100
_NAMED = 20


def trashing_text(office: Office, file: Json) -> str:
    """Describe the effect of trashing a file."""
    if file.get("explicitlyTrashed"):
        return f"{kind_of(file)} is in the trash already"
    if file.get("trashed"):
        return f"take {kind_of(file)} out of its folder in the trash; it stays in the trash"
    return f"move to the trash {kind_of(file)}{inside_text(office, file)}"


def restoring_text(office: Office, file: Json, folder: str) -> str:
    """Describe the effect of restoring a file; `folder` is where it is moved to as well, or ""."""
    if not file.get("trashed"):
        return f"{kind_of(file)} is not in the trash"
    told = f"bring back from the trash {kind_of(file)}"
    if folder or not isinstance(office.drive, Placed) or _has_folder(office, file):
        return told
    return f"{told}, to the topmost folder: the one that it was in is gone"


def moving_text(office: Office, file: Json, folder: str) -> str:
    """Describe the effect of moving a file."""
    told = f"it moves to {kind_of(office.drive.file(folder))}"
    # At Google an explicitly trashed file stays in the trash wherever it is moved.
    stays = file.get("explicitlyTrashed") and not isinstance(office.drive, Placed)
    return f"{told}, out of the trash" if file.get("trashed") and not stays else told


def inside_text(office: Office, file: Json) -> str:
    """Describe the content of a folder, as far as there is room; "" for a file."""
    if file["mimeType"] != FOLDER:
        return ""
    inside = Term("parents", "in", file["id"])
    query = And((inside, Term("trashed", "=", bool(file.get("trashed")))))
    page = office.drive.files(query=write_query(query), order="name", limit=_COUNTED, page="")
    # In a local office, items that were trashed before lie in the trash by themselves.
    is_apart = isinstance(office.drive, Placed)
    found = [one for one in page.items if not (is_apart and one.get("explicitlyTrashed"))]
    more = "more than " if page.next else ""
    names = ", ".join(whole(one["name"]) for one in found[:_NAMED])
    told = f" ({names}{' …' if len(found) > _NAMED else ''})" if names else ""
    return f" with {more}{len(found)} files and folders right in it{told}, and all below"


def _has_folder(office: Office, file: Json) -> bool:
    """Tell if the former folder of a file still exists."""
    try:
        return not any(office.drive.file(one).get("trashed") for one in file.get("parents", ()))
    except ToolError:
        return False
