"""A call as the policy sees it, before anybody is asked."""

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
    """The call, its tool, the values that the tool would take, and what the policy says of it.

    `read` is whether the input of the call is not as it was written, but as it was taken. `pinned`
    is what its paths led to when they were judged.
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
        """The files of the call for whoever shows or runs it, each for itself."""
        return CallFiles(
            {**self.pinned.pins}, lambda path: is_denied(self.policy, self.facts, path)
        )

    @property
    def shown_files(self) -> tuple[tuple[str, Identity | None, tuple[int, int]], ...]:
        """The files that a preview was made of: what is approved is a change of just these."""
        return () if self.tool.preview is None else self.pinned.seen()

    @property
    def checked(self) -> CheckedCall:
        """The call as its tool gets it, for whoever records it."""
        return CheckedCall(
            name=self.tool.name, input=self.facts.input, result=self.tool.traits.result
        )
