"""A call as a person sees it before it runs: every argument, and what it would change.

    file_write
      "path": notes/a.md
      "content": first line
          second line
      | --- notes/a.md
      | +++ notes/a.md

No line of a value can look like another argument: it stands further in.
"""

from __future__ import annotations

import json
from typing import Any

from callblocks.model.errors import ToolError
from callblocks.model.outcomes import Failure
from callblocks.model.secret_values import without_secrets
from callblocks.model.shown import to_compact_text
from callblocks.runtime.asking import Question
from callblocks.runtime.plain import plain
from callblocks.runtime.threads import run_in_thread
from callblocks.runtime.told import told
from callblocks.runtime.turn import Turn
from callblocks.runtime.weighed import Weighed

__all__ = ("preview_of", "question_of", "whole_call")

_SECONDS = 10.0
"""How long a tool may take to tell what it would change."""


_OWN_FAULTS = frozenset(
    (
        *("invalid_input", "not_found", "invalid_url", "unsafe_path", "protected_path"),
        *("path_not_found", "path_exists", "wrong_file_type", "file_too_large", "not_text"),
    )
)
"""The codes of faults of a call itself: it fails whoever says yes to it. Others may pass."""


async def preview_of(weighed: Weighed, turn: Turn) -> str | Failure:
    """What the call would change, as its tool tells it, or why it cannot work.

    "" where the tool does not tell. Words of the tool's about a fault taint as its outcome would.
    """
    tool, preview = weighed.tool, weighed.tool.preview
    if preview is None:
        return ""
    shown = run_in_thread(lambda: str(preview(**weighed.values)))
    try:
        if not await turn.wait(shown, _SECONDS):
            return _unknown("that takes too long")
        return shown.result()
    except ToolError as error:
        failure = told(tool, error)
        if failure.code not in _OWN_FAULTS:
            return _unknown(failure.message)
        if tool.brings_text_of_others:
            turn.taint(tool.name)
        return failure
    except Exception as error:  # whatever else a preview does, the person is still asked
        return _unknown(_words(error))
    finally:
        shown.cancel()


def question_of(weighed: Weighed, approval_id: str, preview: str) -> Question:
    """What the person is asked."""
    return Question(
        call=weighed.call,
        tool=weighed.tool,
        approval_id=approval_id,
        reason=weighed.decision.reason,
        preview=preview,
        tainted=weighed.facts.tainted,
        read=weighed.read,
    )


def whole_call(weighed: Weighed, preview: str) -> str:
    """The whole call in words, for whoever answers later; without secrets."""
    given: dict[str, Any] = without_secrets(plain(weighed.call.input))
    lines = [weighed.tool.name]
    for key, value in given.items():
        text = to_compact_text(value).replace("\n", "\n      ")
        lines.append(f"  {json.dumps(key, ensure_ascii=False)}: {text}")
    lines += [f"  | {line}" for line in preview.splitlines()]
    return "\n".join(lines)


def _unknown(why: str) -> str:
    return f"(what it would change is not known: {why})"


def _words(error: Exception) -> str:
    try:
        return str(error)
    except BaseException:  # an exception of a tool may do anything when it is shown
        return type(error).__name__
