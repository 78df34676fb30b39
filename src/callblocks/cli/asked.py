"""What a person asked, to be written down with a run: a text, and files.

All of it is read and checked before anything runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from callblocks.cli.exits import Fault

__all__ = ("Asked", "AttachedFile", "asked", "attached")


class AttachedFile(msgspec.Struct, frozen=True):
    """A file that the person gave, by its name alone."""

    name: str
    content: bytes


class Asked(msgspec.Struct, frozen=True):
    """The prompt, or "", and the files."""

    prompt: str
    files: tuple[AttachedFile, ...]


def asked(prompt: str | None, paths: Iterable[str]) -> Asked:
    """What was asked; files of one name, and such as cannot be attached, are a `Fault`."""
    files: dict[str, AttachedFile] = {}
    for path in paths:
        file = _option(path)
        if file.name in files:
            raise Fault(f"--attach {path}: another file has the name {file.name}; rename one")
        files[file.name] = file
    return Asked((prompt or "").strip(), tuple(files.values()))


def _option(path: str) -> AttachedFile:
    try:
        return attached(path)
    except Fault as fault:
        raise Fault(f"--attach {fault.message}") from fault


def attached(path: str) -> AttachedFile:
    """A file that is to be attached; one that cannot be is a `Fault`."""
    from callblocks.model.errors import BadPath
    from callblocks.model.paths import file_path
    from callblocks.toolkits.turn_files import MAX_FILE

    try:
        name = file_path("turn_1", os.path.basename(path), "attachments").name
        with open(path, "rb") as file:
            content = file.read(MAX_FILE + 1)
    except BadPath as error:
        raise Fault(f"{path}: {error}") from error
    except OSError as error:
        raise Fault(f"{path}: {error.strerror}") from error
    if len(content) > MAX_FILE:
        raise Fault(f"{path}: it has more than {MAX_FILE:,} bytes")
    return AttachedFile(name, content)
