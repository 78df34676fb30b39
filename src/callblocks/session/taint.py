"""Text of others that is in a transcript already: results of earlier calls.

On a timeline a result stands with the reasons that came with it, in one append (`taint_meta`): what
the model was shown, and that it is of others, are never apart. Beside that a result taints the turn
as the call alone tells: that of a tool which brings text of others or reads files of others, and
that of one nobody knows. A call that did not run brought nothing, and neither did one whose result
stood in the reply itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from callblocks.core.blocks import Block, Entry
from callblocks.core.calls import Call
from callblocks.guard.files.origins import is_foreign
from callblocks.guard.files.real_path import HERE
from callblocks.policy.rules import ContainedTaint, add_taint, gather, taint_by
from callblocks.timeline.codec.call_blocks import NOT_RUN, params_of
from callblocks.timeline.codec.outcome_blocks import outcome_of
from callblocks.timeline.timeline import CallKey, call_key
from callblocks.tools.registry import Registry

__all__ = ("Taints", "taint_meta", "taint_of")

# Failure codes which say that a call produced no text.
_NOTHING_CAME = NOT_RUN | {"cancelled", "indeterminate", "limit_reached"}


def taint_of(call: Call, registry: Registry) -> str | None:
    """Return why the result of this call taints a turn; `None` where it does not."""
    tool = registry.get(call.name)
    if tool is None:
        return f"the result of {call.name}, which nobody here knows"
    if tool.stands_for is not None:
        checked = tool.check(call.input)
        # What was kept of the call may be too little to say what it stood for.
        name, given = tool.stands_for(checked.values) if not checked.faults else ("", {})
        return taint_of(Call(id=call.id, name=name or "another tool", input=given), registry)
    if tool.brings_text_of_others:
        return f"the result of {call.name}"
    taken = tool.check(call.input)
    # Where too little was kept of the call to check it, what is there counts as it stands.
    given = call.input if taken.input is None or taken.faults else taken.input
    facts = gather(tool, given, resolve=lambda path: path)
    if tool.traits.kind == "exec":
        return taint_by(tool, facts.traits, f"the result of {call.name}")
    paths = facts.paths
    foreign = [path for path in paths if path is not None and is_foreign(path)]
    if foreign:
        return f"file of others: {foreign[0]}"
    # It tells its paths itself: one that looks through the workspace meets all that is in it.
    looks_through = tool.paths is not None and HERE in paths
    return f"the result of {call.name}, which meets files of others" if looks_through else None


class Taints:
    """The taints of a conversation. They stay in view, so later turns are tainted."""

    def __init__(self) -> None:
        self._all: dict[str, str] = {}
        self._waiting: dict[CallKey, Call] = {}

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the reasons in the order in which they came."""
        return tuple(self._all.values())

    def feed(self, entries: Iterable[Entry], registry: Registry) -> None:
        """Take the entries that follow: results, files that the person gave, and ended turns.

        The record of an ended turn has what its tools said themselves.
        """
        for entry in entries:
            block = entry.block
            if block.type == "react.tool.call" and not block.meta.get("written"):
                call = Call(id=block.call_id, name=block.tool_id, input=params_of(block))
                self._waiting[call_key(block)] = call
            elif block.type == "react.tool.result":
                self._add(_said(block))
                self._result(block, registry)
            elif block.type == "user.attachment":
                add_taint(self._all, f"attachment: {block.path}")
            elif block.type in ("timeline.turn", "assistant.completion"):
                self._add(_said(block))

    def _add(self, reasons: Iterable[str]) -> None:
        for why in reasons:
            add_taint(self._all, why)

    def _result(self, block: Block, registry: Registry) -> None:
        """Take a result; the first of a call says whether it ran."""
        call = self._waiting.pop(call_key(block), None)
        if call is None:
            return
        error = outcome_of(call.id, call.name, [block]).error
        why = taint_of(call, registry)
        if why and (error is None or error.code not in _NOTHING_CAME):
            add_taint(self._all, why)


def taint_meta(reasons: Iterable[str]) -> dict[str, list[str]]:
    """Return reasons as the meta of a block has them; it lists again those that are contained."""
    known = list(reasons)
    contained = [str(why) for why in known if isinstance(why, ContainedTaint)]
    return {"tainted": [str(why) for why in known], "contained": contained}


def _said(block: Block) -> list[str]:
    """Return the reasons in the meta of a block."""
    try:
        contained = frozenset(msgspec.convert(block.meta.get("contained", []), list[str]))
        said = msgspec.convert(block.meta.get("tainted", []), list[str])
    except msgspec.ValidationError:
        return []
    return [ContainedTaint(why) if why in contained else why for why in said]
