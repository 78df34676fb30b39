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

from callblocks.model.secret_values import without_secrets
from callblocks.model.shown import to_compact_text
from callblocks.runtime.asking import Question
from callblocks.runtime.plain import plain
from callblocks.runtime.threads import run_in_thread
from callblocks.runtime.turn import Turn
from callblocks.runtime.weighed import Weighed

__all__ = ("preview_of", "question_of", "whole_call")

_SECONDS = 10.0
"""How long a tool may take to tell what it would change."""


async def preview_of(weighed: Weighed, turn: Turn) -> str:
    """What the call would change, as its tool tells it; "" where it does not."""
    preview = weighed.tool.preview
    if preview is None:
        return ""
    told = run_in_thread(lambda: str(preview(**weighed.values)))
    try:
        if not await turn.wait(told, _SECONDS):
            return _unknown("that takes too long")
        return told.result()
    except Exception as error:  # whatever a preview does, the person is still asked
        return _unknown(_words(error))
    finally:
        told.cancel()


def question_of(weighed: Weighed, approval_id: str, preview: str) -> Question:
    """What the person is asked."""
    return Question(
        call=weighed.call,
        tool=weighed.tool,
        approval_id=approval_id,
        reason=weighed.decision.reason,
        preview=preview,
        tainted=weighed.facts.tainted,
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
