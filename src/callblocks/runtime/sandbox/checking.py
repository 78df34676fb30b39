"""Checks of a job before anything is started for it."""

from __future__ import annotations

import re

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.runtime.sandbox.names import fault_of_path
from callblocks.runtime.sandbox.sandbox import Job

__all__ = ("check_job",)

_WORD_BYTES = 128 * 1024 - 1  # the kernel's own limit, with the NUL at the end
_ALL_BYTES = 1024 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_job(job: Job) -> None:
    """Raise `ToolError("invalid_input")` for a job that no kernel would start."""
    if not job.argv or not job.argv[0]:
        raise ToolError("invalid_input", "there is no command to run")
    for name in job.env:
        if not _NAME.fullmatch(name):
            raise ToolError("invalid_input", f"not a name of a variable: {brief(name, 60)}")
    words = [*job.argv, *(f"{name}={value}" for name, value in job.env.items())]
    sizes = [_size(word) for word in words]
    if max(sizes) > _WORD_BYTES or sum(sizes) > _ALL_BYTES:
        raise ToolError(
            "invalid_input",
            f"the command has {sum(sizes):,} bytes, and a part of it may have {_WORD_BYTES:,}; "
            "write the text to a file and name that file instead",
        )
    for path in (job.cwd, *job.without, *job.read_only):
        if path and (fault := fault_of_path(path)):
            raise ToolError("invalid_input", f"not a path below: {brief(path, 60)}: {fault}")


def _size(word: str) -> int:
    if "\0" in word:
        raise ToolError("invalid_input", f"a NUL character is in {brief(word, 60)}; leave it out")
    try:
        return len(word.encode())
    except UnicodeEncodeError:
        raise ToolError("invalid_input", f"not Unicode text: {brief(word, 60)}") from None
