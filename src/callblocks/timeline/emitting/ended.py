"""A call that has ended, and its blocks to be written.

Every shape is a function from `Ended` to `Emitted`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from callblocks.model.blocks import Block
from callblocks.model.calls import Call
from callblocks.model.outcomes import Artifact, Failure, Notice, Outcome
from callblocks.timeline.emitting.digest import digest_text
from callblocks.timeline.emitting.holdings import Holdings
from callblocks.timeline.emitting.notices import NOT_RUN, error_payload, notice_of_failure
from callblocks.timeline.stamp import Stamp

__all__ = ("Emitted", "Ended", "failed")


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A call with its outcome. `brought` are blocks that the tool brings itself."""

    call: Call
    outcome: Outcome
    stamp: Stamp
    holdings: Holdings
    brought: tuple[Block, ...] = ()

    def param(self, name: str) -> str:
        """Return a parameter of the call that is a text; "" for any other."""
        value = self.call.input.get(name)
        return value if isinstance(value, str) else ""

    @property
    def answer(self) -> Mapping[str, Any]:
        """Return the output, where it is an object; otherwise an empty one."""
        output = self.outcome.output
        return cast("Mapping[str, Any]", output) if isinstance(output, Mapping) else {}

    # By the failure's code and its time: the runtime gives no other sign, and a call recorded by
    # another program has only these.
    @property
    def has_run(self) -> bool:
        """Return whether the tool was begun at all; a call that did not run made no file.

        A call that was stopped before its turn came took no time.
        """
        code = self.outcome.error.code if self.outcome.error else ""
        return self.outcome.seconds > 0 if code == "cancelled" else code not in NOT_RUN


class Emitted(msgspec.Struct, frozen=True, kw_only=True):
    """The notices, the results, and the records that come before them.

    `kept` are artifacts made on the way; `shown` are the digests of files in the results.
    """

    notices: tuple[Notice, ...] = ()
    results: tuple[Block, ...] = ()
    records: tuple[Block, ...] = ()
    kept: tuple[Artifact, ...] = ()
    shown: frozenset[str] = frozenset()


def failed(ended: Ended, failure: Failure, **fields: Any) -> Emitted:
    """Return the blocks of a call without a result: the digest says why, and so does a notice."""
    said = {
        "artifact_path": ended.stamp.path("result"),
        "tool_call_id": ended.stamp.call,
        "error": error_payload(ended.stamp, failure),
        **fields,
    }
    digest = ended.stamp.result("digest", digest_text(**said))
    return Emitted(notices=(notice_of_failure(ended.stamp, failure),), results=(digest,))
