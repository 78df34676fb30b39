"""Traits: what is known of a tool before it runs; a policy decides by them.

    read_only     changes nothing
    destructive   may overwrite, delete or send what cannot be taken back
    idempotent    a run repeated after a crash adds nothing: it does the same, or knows its key
    open_world    reaches beyond this machine and its workspace

The worst is assumed for a trait that is not declared: a tool that is not read-only is destructive.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import msgspec

from callblocks.model.calls import ResultKind

__all__ = ("KINDS", "RESULT_KINDS", "TRAITS", "Kind", "Traits")

# plain; writer makes files; exec runs code or commands; source brings text of others.
Kind: TypeAlias = Literal["plain", "writer", "exec", "source"]

KINDS: tuple[Kind, ...] = ("plain", "writer", "exec", "source")
RESULT_KINDS: tuple[ResultKind, ...] = get_args(ResultKind)
TRAITS = ("read_only", "destructive", "idempotent", "open_world")


# The defaults are the worst case: a tool that declares nothing is treated as destructive.
class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """The traits of a tool, its kind, and the kind of its result.

    No policy decides by the result: a timeline makes its blocks by it. `None` is undeclared: then
    the tool's name decides, where timelines know it, and otherwise it is `plain`.
    """

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = False
    kind: Kind = "plain"
    result: ResultKind | None = None

    def names(self) -> tuple[str, ...]:
        """Return the names of its traits, then its kind where that is not `plain`."""
        held = tuple(name for name in TRAITS if getattr(self, name))
        return held if self.kind == "plain" else (*held, self.kind)
