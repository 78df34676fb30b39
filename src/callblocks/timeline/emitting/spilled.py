"""An output that was too long for an outcome: the runtime left its beginning, and kept it whole.

first lines …
... (2.3MB in all, kept as 4f/4f0c…/c1.json)
"""

from __future__ import annotations

from typing import Any

import msgspec

from callblocks.model.outcomes import Artifact
from callblocks.timeline.emitting.ended import Ended
from callblocks.timeline.stamp import JSON

__all__ = ("is_spilled", "whole_output")


def is_spilled(output: object, artifact: Artifact) -> bool:
    """Return whether an output is only the beginning of this artifact, which its last line
    names.
    """
    if not isinstance(output, str) or not artifact.path:
        return False
    last = output[output.rfind("\n") + 1 :]
    return last.startswith("... (") and last.endswith(f"kept as {artifact.path})")


def whole_output(ended: Ended) -> Any:
    """Return the output as the tool gave it, where it can be recovered; else what is left of it."""
    output = ended.outcome.output
    for artifact in ended.outcome.artifacts:
        # Only JSON can be restored to the value that the tool returned; a text has lost nothing but
        # length.
        if artifact.mime == JSON and is_spilled(output, artifact):
            content = ended.holdings.content(artifact)
            try:
                return msgspec.json.decode(content) if isinstance(content, bytes) else output
            except (msgspec.DecodeError, RecursionError):
                return output
    return output
