"""The result of `react.read`: the status first, then the blocks."""

from __future__ import annotations

from callblocks.model.secret_values import without_secrets
from callblocks.timeline.emitting.ended import Emitted, Ended
from callblocks.timeline.emitting.plain_results import plain_results
from callblocks.timeline.plain_json import json_text, plain

__all__ = ("read_results",)


def read_results(ended: Ended) -> Emitted:
    """Return the status at `tc:…result`, and the blocks; a failure is one like any other."""
    if ended.outcome.error is not None:
        return plain_results(ended)
    status = json_text(without_secrets(plain(ended.outcome.output)))
    return Emitted(results=(ended.stamp.result("status", status), *ended.brought))
