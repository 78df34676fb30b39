"""One function of a tool, run until it returns, its time is up, or the turn is stopped."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from callblocks.model.errors import ToolError
from callblocks.runtime.files.pins import CallFiles, in_call
from callblocks.runtime.isolating import run_isolated
from callblocks.runtime.threads import run_in_thread
from callblocks.runtime.turn import Turn
from callblocks.tools.context import Context, running_as
from callblocks.tools.tool import Tool

__all__ = ("invoke",)

# Seconds that a function gets to end after it was cancelled.
_GRACE = 1.0


async def invoke(
    tool: Tool,
    values: dict[str, Any],
    context: Context,
    turn: Turn,
    seconds: float,
    files: CallFiles | None = None,
) -> Any:
    """Return the value of the function; raise its exception, or `ToolError` timeout or cancelled.

    `files` are those of the call, so that its paths lead to what was judged.
    """
    # Context variables are copied when a task or thread is created, so setting them around `_start`
    # suffices; the caller's own context stays unchanged.
    with running_as(context), in_call(files or CallFiles()):
        task = _start(tool, values, context)
    try:
        if await turn.wait(task, seconds):
            return _result(task)
        code, why = ("cancelled", "stopped") if turn.stopped else ("timeout", f"{seconds:g} s")
        raise ToolError(code, _WORDS[code].format(name=tool.name, why=why))
    finally:
        # Set even on success: a thread that the tool left behind sees that nobody waits any more.
        context.cancelled = True
        await _end(task)


_WORDS = {
    "timeout": "{name} was stopped after {why}. What it did until then may be incomplete.",
    "cancelled": "{name} was {why} before it finished. What it did until then may be incomplete.",
}


def _start(tool: Tool, values: dict[str, Any], context: Context) -> asyncio.Future[Any]:
    function = tool.function
    assert function is not None
    if tool.isolated:
        return asyncio.ensure_future(run_isolated(tool, values))
    given = values if tool.context is None else {**values, tool.context: context}
    if inspect.iscoroutinefunction(function):
        return asyncio.ensure_future(_contained(lambda: function(**given)))
    return run_in_thread(lambda: _finished(function(**given)))


async def _contained(begin: Callable[[], Awaitable[Any]]) -> Any:
    """Await some work; turn an exception that would end the program into a failure of this call."""
    try:
        return await begin()
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:  # `SystemExit` and the like, also of a tool's own kind
        words = f"the tool tried to end the program: {type(error).__name__}"
        raise ToolError("tool_error", words) from error


def _result(task: asyncio.Future[Any]) -> Any:
    """Return the value or raise the exception; a tool that cancels itself cancels nothing else."""
    if task.cancelled():
        raise ToolError("tool_error", "the tool gave itself up")
    return task.result()


def _finished(value: Any) -> Any:
    """Run an awaitable returned by a sync tool to completion, in the worker thread that
    created it.
    """
    return asyncio.run(_contained(lambda: value)) if inspect.isawaitable(value) else value


async def _end(task: asyncio.Future[Any]) -> None:
    """Cancel what still runs; a task that does not end in time is abandoned."""
    if task.done():
        return
    task.cancel()
    await asyncio.wait({task}, timeout=_GRACE)
    if not task.done():
        task.add_done_callback(_drop)
    elif not task.cancelled():
        task.exception()


def _drop(task: asyncio.Future[Any]) -> None:
    """Retrieve the exception of an abandoned task, so that asyncio does not log it as
    unretrieved.
    """
    if not task.cancelled():
        task.exception()
