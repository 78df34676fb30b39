"""`terminal_execute`: a shell command, in the sandbox, on a copy of the workspace.

When the command has ended, its writes and deletions are applied to the real workspace file by file
through `Root`, so protected paths stay as they are. A command that was stopped changes nothing.

Why a copy and not the workspace itself: the command can run for minutes, and a person or another
call may edit the same files. The copy also makes a timeout atomic.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeAlias

import msgspec
from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.guard.sandbox.sandbox import (
    Changes,
    Job,
    JobEnd,
    Limits,
    Missing,
    Sandbox,
    find_sandbox,
)
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

__all__ = ("OF_THE_OFFICE", "FindSandbox", "require_found", "terminal_tools")

FindSandbox: TypeAlias = Callable[[], Awaitable[Sandbox | Missing]]

_LONGEST = 600
# Seconds that setting up and bringing back may take, beside the command itself.
_SLACK = 90

# Changed files that are brought back from one command.
_MOST = 2_000

# Paths of an office that a command does not see: it gets the drive, and tools exist for the rest.
OF_THE_OFFICE = (
    *("office/.index", "office/calendar", "office/drive.sqlite", "office/mail"),
    *("office/tasks.sqlite", "office/trash"),
)

_Command = Annotated[str, Field(min_length=1, max_length=100_000)]
_Seconds = Annotated[float, Field(gt=0, le=_LONGEST)]


def terminal_tools(
    root: Root, *, find: FindSandbox = find_sandbox, limits: Limits | None = None
) -> tuple[Tool, ...]:
    """Return the terminal tools of the workspace `root`."""
    given = limits or Limits()

    async def precheck(**_: object) -> None:
        await require_found(find)

    @tool(
        kind="exec",
        needs_approval=True,
        timeout=_LONGEST + _SLACK,
        precheck=precheck,
        origin="builtin",
    )
    async def terminal_execute(
        command: _Command, context: Context, timeout: _Seconds = 60
    ) -> dict[str, Any]:
        """Run a shell command in the workspace, apart from the machine and without network.

        Gives the exit code, what was printed, and the files that were written or deleted.

        Args:
            command: the command, as for `sh -c`, such as python windows.py | head -5
            timeout: seconds after which it is stopped, with nothing changed; at most 600
        """
        sandbox = await require_found(find)
        job = Job(
            argv=("/bin/sh", "-c", command),
            folder=str(root.folder),
            without=(*root.hidden, *OF_THE_OFFICE),
            limits=msgspec.structs.replace(given, seconds=timeout),
        )
        printed = _Printed(context)
        foreign = root.origins.holds_foreign()
        ended = await sandbox.run(job, printed.take)
        # The workspace is copied after the first check, so a concurrent call may have put foreign
        # text into it in between. Check again: taint on either.
        if foreign or root.origins.holds_foreign():
            context.taint("a command that could read files of others")
        # In a thread: writing up to two thousand files blocks, and the event loop serves other
        # calls.
        changed = await asyncio.to_thread(_bring_back, ended.changes, root, context)
        return _report(ended, printed, changed, context, timeout)

    return (terminal_execute,)


async def require_found(find: FindSandbox) -> Sandbox:
    """Return the sandbox that is found; `sandbox_unavailable` where there is none."""
    sandbox = await find()
    if isinstance(sandbox, Missing):
        raise ToolError("sandbox_unavailable", sandbox.reason)
    return sandbox


class _Printed:
    """The output of a command: decoded, reported at once, and kept."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._texts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        # Incremental decoders, because a piece may end in the middle of a UTF-8 sequence.
        self._decoders = {
            stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in self._texts
        }

    def take(self, stream: str, piece: bytes) -> None:
        text = self._decoders[stream].decode(piece)
        if text:
            self._texts[stream].append(text)
            self._context.report(text)

    def texts(self) -> dict[str, str]:
        """Return both streams without the empty ones."""
        whole = {
            stream: "".join(pieces) + self._decoders[stream].decode(b"", final=True)
            for stream, pieces in self._texts.items()
        }
        return {stream: text for stream, text in whole.items() if text}


def _report(
    ended: JobEnd, printed: _Printed, changed: dict[str, Any], context: Context, seconds: float
) -> dict[str, Any]:
    texts: dict[str, Any] = printed.texts()
    if ended.timed_out:
        raise ToolError(
            "timeout",
            f"stopped after {seconds:g} s, and nothing was changed; "
            "give a longer timeout, or do less at once",
            **texts,
        )
    if ended.truncated:
        context.notice(
            "output_dropped",
            f"the command printed {ended.output_bytes:,} bytes; only the first were kept",
        )
    if not ended.copied:
        context.notice("workspace_read_only", "the workspace is too large: it was read-only")
    why = _why(ended)
    return {"exit_code": ended.exit_code, **({"ended": why} if why else {}), **texts, **changed}


def _why(ended: JobEnd) -> str:
    """Return the reason that ended a command from outside, or ""."""
    if ended.out_of_memory:
        return "out of memory"
    if ended.out_of_processes:
        return "too many processes"
    if ended.out_of_disk:
        return "too much written"
    return f"killed by {ended.signal}" if ended.signal else ""


def _bring_back(changes: Changes, root: Root, context: Context) -> dict[str, Any]:
    """Apply the command's changes to the workspace; report and skip those that are refused."""
    # All or nothing above the limit: half of a large change (an unpacked archive, a build) is worse
    # than none.
    if len(changes.written) + len(changes.deleted) > _MOST:
        changes = Changes(lost=f"the command changed more than {_MOST:,} files")
    # Delete before writing: the command may have replaced a folder by a file of the same name.
    deleted = [path for path in changes.deleted if _done(root.delete, path, context)]
    written = [
        file.path
        for file in changes.written
        if _done(
            lambda path, file=file: root.write(path, file.content, executable=file.executable),
            file.path,
            context,
        )
    ]
    for left in changes.left_out:
        context.notice("change_left_out", f"{left.path} stays in the sandbox: {left.reason}")
    if changes.lost:
        context.notice("changes_lost", f"nothing was changed: {changes.lost}")
    found = {"written": written, "deleted": deleted}
    return {what: paths for what, paths in found.items() if paths}


def _done(change: Callable[[str], object], path: str, context: Context) -> bool:
    if context.cancelled:
        return False
    try:
        change(path)
    except ToolError as error:
        context.notice("change_refused", f"{path}: {error.message}", why=error.code)
        return False
    return True
