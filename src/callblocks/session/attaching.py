"""The files that a person gives with a prompt, each under a name of its own.

image.png, image.png        image.png, image-2.png
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from callblocks.model.paths import file_path
from callblocks.session.settings import Attachment

__all__ = ("named_apart",)


def named_apart(files: Iterable[Attachment]) -> list[Attachment]:
    """Return the files under distinct names; raise `BadPath` for a name that no file can have."""
    named: dict[str, Attachment] = {}
    # Count the files of each name. Trying -2, -3, … from the start for each file would make a
    # thousand files of one name cost a million tries.
    counts: dict[str, int] = {}
    for file in files:
        name = own = _checked(file.name)
        while own in named:
            counts[name] = counts.get(name, 1) + 1
            own = _checked(_numbered(name, counts[name]))
        named[own] = Attachment(own, file.content)
    return list(named.values())


def _checked(name: str) -> str:
    return file_path("turn", name, "attachments").name


def _numbered(name: str, count: int) -> str:
    path = PurePosixPath(name)
    return str(path.with_name(f"{path.stem}-{count}{path.suffix}"))
