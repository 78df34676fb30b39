"""A call as the policy judged it, before anybody is asked."""

from __future__ import annotations

from typing import Any

import msgspec

from callblocks.model.calls import Call, CheckedCall
from callblocks.runtime.files.pins import CallFiles, Identity
from callblocks.runtime.policy.facts import Facts
from callblocks.runtime.policy.met_paths import is_denied
from callblocks.runtime.policy.policy import Decision, Policy
from callblocks.tools.tool import Tool

__all__ = ("Weighed",)


class Weighed(msgspec.Struct, frozen=True, kw_only=True):
    """The call, its tool, the values for that tool, and the policy's decision.

    `read` is true where the input of the call was not taken as written. `pinned` are the targets of
    its paths at the time of the judgement.
    """

    call: Call
    tool: Tool
    values: dict[str, Any]
    facts: Facts
    decision: Decision
    policy: Policy
    read: bool = False
    pinned: CallFiles = msgspec.field(default_factory=CallFiles)

    @property
    def files(self) -> CallFiles:
        """Return the files of the call, a new copy for each user, so that a preview cannot change
        the pins of the run.
        """
        return CallFiles(
            {**self.pinned.pins}, lambda path: is_denied(self.policy, self.facts, path)
        )

    @property
    def shown_files(self) -> tuple[tuple[str, Identity | None, tuple[int, int]], ...]:
        """Return the files that a preview was made from; the approval covers a change of exactly
        these.
        """
        return () if self.tool.preview is None else self.pinned.seen()

    @property
    def checked(self) -> CheckedCall:
        """Return the call as its tool gets it, to record it."""
        return CheckedCall(
            name=self.tool.name, input=self.facts.input, result=self.tool.traits.result
        )
