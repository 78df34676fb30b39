"""The question to a person before a call runs: the call, the reason, and its preview."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from callblocks.model.errors import ToolError
from callblocks.model.outcomes import Failure
from callblocks.runtime.asking import Question
from callblocks.runtime.files.pins import in_call
from callblocks.runtime.threads import run_in_thread
from callblocks.runtime.told import told
from callblocks.runtime.turn import Turn
from callblocks.runtime.weighed import Weighed
from callblocks.tools.context import Context, running_as
from callblocks.tools.tool import Precheck, Tool

__all__ = ("preview_of", "question_of")

# Seconds that a tool may take for its preview.
_SECONDS = 10.0


# Codes of faults in the call itself, which no approval can cure. A fault with another code may be
# temporary, so the person is still asked.
_OWN_FAULTS = frozenset(
    (
        *("invalid_input", "not_found", "invalid_url", "unsafe_path", "protected_path"),
        *(
            "path_not_found",
            "path_exists",
            "path_changed",
            "wrong_file_type",
            "file_too_large",
            "not_text",
        ),
    )
)


async def preview_of(weighed: Weighed, turn: Turn) -> str | Failure:
    """Return the tool's preview of the change, or the failure that makes the call impossible.

    "" where the tool has no preview. A tool's words about a fault taint the turn as its outcome
    would.
    """
    refusal = await _prechecked(weighed, turn)
    return refusal or await _previewed(weighed, turn)


async def _prechecked(weighed: Weighed, turn: Turn) -> Failure | None:
    """Return the failure that the tool can predict, or `None`."""
    tool, precheck = weighed.tool, weighed.tool.precheck
    if precheck is None:
        return None
    context = Context(tainted=lambda: turn.tainted)
    # The precheck runs on the pinned files of the judgement, as the call itself will.
    with running_as(context), in_call(weighed.files):
        checked = _started(lambda: precheck(**weighed.values), precheck)
    try:
        if await turn.wait(checked, _SECONDS):
            checked.result()
    except ToolError as error:
        _taint(turn, tool, context)
        return told(tool, error)
    except Exception:  # whatever else it does, the person is still asked
        return None
    finally:
        checked.cancel()
    return None


def _taint(turn: Turn, tool: Tool, context: Context) -> None:
    """Taint a turn by the words of a tool about a fault, as its outcome would."""
    for why in (*context.taints, *([tool.name] if tool.brings_text_of_others else [])):
        turn.taint(why)


def _started(begin: Callable[[], Any], function: Precheck) -> asyncio.Future[Any]:
    if inspect.iscoroutinefunction(function):
        return asyncio.ensure_future(begin())
    return run_in_thread(begin)


async def _previewed(weighed: Weighed, turn: Turn) -> str | Failure:
    tool, preview = weighed.tool, weighed.tool.preview
    if preview is None:
        return ""
    context = Context(tainted=lambda: turn.tainted)
    with running_as(context), in_call(weighed.files):
        shown = run_in_thread(lambda: str(preview(**weighed.values)))
    try:
        if not await turn.wait(shown, _SECONDS):
            return _unknown("that takes too long")
        return shown.result()
    except ToolError as error:
        failure = told(tool, error)
        if failure.code not in _OWN_FAULTS:
            return _unknown(failure.message)
        _taint(turn, tool, context)
        return failure
    except Exception as error:  # whatever else a preview does, the person is still asked
        return _unknown(_words(error))
    finally:
        shown.cancel()


def question_of(weighed: Weighed, approval_id: str, preview: str) -> Question:
    """Return the question for the person."""
    return Question(
        call=weighed.call,
        tool=weighed.tool,
        approval_id=approval_id,
        reason=weighed.decision.reason,
        preview=preview,
        tainted=weighed.facts.tainted,
        read=weighed.read,
    )


def _unknown(why: str) -> str:
    return f"(what it would change is not known: {why})"


def _words(error: Exception) -> str:
    try:
        return str(error)
    except BaseException:  # an exception of a tool may do anything when it is shown
        return type(error).__name__
