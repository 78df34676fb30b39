"""A call as it was checked and judged, and the turn that it belongs to."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec

from callblocks.core.calls import Call, CheckedCall
from callblocks.core.events import CallBegan, CallTold
from callblocks.core.outcomes import Failure
from callblocks.core.specs import ToolSpec
from callblocks.core.text import brief, close_to, listed
from callblocks.guard.files.root import CallFiles, Identity
from callblocks.parsing.values.binding import bind
from callblocks.policy.policy import Decision, Policy, is_denied
from callblocks.policy.rules import ContainedTaint, Facts, add_taint
from callblocks.tools.check import faults_text, is_too_deep
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Checked, Denoted, FieldFault, Tool

__all__ = (
    "Judged",
    "Judgement",
    "Listener",
    "Progress",
    "TakenCall",
    "Turn",
    "check_call",
    "checked_call",
    "quoting_hint",
    "take_call",
    "unbound",
)

# --- Reasons why positional arguments did not fit a tool, in words that a model can act on ---
#
# 🛠️[search left pump]     limit: must be an integer, got "pump"
#                           in this dialect a text of several words stands in quotes: 'left pump'

_DIALECTS = ("emoji-bracket", "emoji-bracket+")
_RAW = {"args", "body"}
_QUOTES = "in this dialect a text of several words stands in quotes: 'left pump'"


def unbound(call: Call, tool: ToolSpec) -> str:
    """Return why the positional arguments could not be bound; "" where they were or were
    not tried.
    """
    is_raw = call.input.keys() == _RAW and _RAW.isdisjoint(tool.properties)
    if call.dialect not in _DIALECTS or not is_raw:
        return ""
    args, body = str(call.input["args"]), str(call.input["body"])
    if bind(args, body, tool).value is not None:
        return ""
    if bind(args, "", tool).value is not None:
        return "no parameter is left for the body; leave it empty"
    names = _names(tool)
    takes = f"{listed(names)}, in this order, each once" if names else "none"
    return f"these words do not fit: it takes {takes}; {_QUOTES}"


def quoting_hint(call: Call, tool: ToolSpec, faults: Iterable[FieldFault]) -> str:
    """Return a hint about quotes where a word after a text does not fit; otherwise ""."""
    texts = [name for name in _names(tool) if isinstance(call.input.get(name), str)]
    is_split = any(fault.field in texts[1:] for fault in faults)
    return _QUOTES if call.dialect in _DIALECTS and is_split else ""


def _names(tool: ToolSpec) -> list[str]:
    return [name for name in tool.properties if name != tool.body]


# --- The checked input of a call: which tool it means, and which values that tool gets ---
#
#     known?  ended?  runnable?  input fits?  stands for another?
#
# Policy, approval, tool, journal and recorder all work on this value and never on the raw input. If
# one of them read the raw input, it could see another call than the one that runs. The value
# depends on the call and its tool alone, so the same call gives the same input after a restart.

_UNABLE = "{name} is only described here, and nothing can run it; use another tool"


class TakenCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as checked: `call` has the name of the tool that runs, and the input it gets.

    `values` are those of the input, converted for the function; `denoted` are its addresses and
    paths. `through` is the tool that the call was written with, where that one stands for another.
    `read` is true where the input was not taken as written.
    """

    call: Call
    tool: Tool
    values: dict[str, Any]
    denoted: Denoted
    through: str = ""
    read: bool = False


def take_call(call: Call, registry: Registry, through: str = "") -> TakenCall | Failure:
    """Check a call against its tool; return a failure if it can never run."""
    tool = registry.get(call.name)
    if tool is None:
        return _unknown(call.name, registry.names, registry.absent.get(call.name, ""))
    if not call.ended or tool.function is None:
        return _unready(call, tool)
    checked = tool.check(call.input)
    # A caller's own check may accept any depth; encoding and fingerprinting recurse.
    too_deep = is_too_deep(call.input if checked.input is None else checked.input)
    if checked.faults or too_deep:
        return _unfit(call, tool, checked)
    if checked.input is not None:
        call = msgspec.structs.replace(call, input=checked.input)
    if tool.stands_for is None:
        read = checked.input is not None
        return TakenCall(
            call=call,
            tool=tool,
            values=checked.values,
            denoted=tool.denoted(call.input),
            through=through,
            read=read,
        )
    # One level of indirection only: an alias of an alias could loop forever.
    if through:
        words = f"{tool.name} is no tool by itself; name the tool that you mean"
        return Failure(code="invalid_input", message=words, details={"name": words})
    # The alias is resolved before the policy sees the call, so that no rule can be dodged by
    # calling a tool through another name.
    name, given = tool.stands_for(checked.values)
    return take_call(msgspec.structs.replace(call, name=name, input=given), registry, tool.name)


def check_call(call: Call, registry: Registry) -> CheckedCall | None:
    """Return a call as its tool would get it; `None` for one that cannot run."""
    taken = take_call(call, registry)
    return None if isinstance(taken, Failure) else checked_call(taken)


def checked_call(taken: TakenCall) -> CheckedCall:
    """Return the values of a checked call that a timeline records."""
    given = taken.denoted.input
    return CheckedCall(name=taken.tool.name, input=given, result=taken.tool.traits.result)


def _unready(call: Call, tool: Tool) -> Failure:
    """Return the failure of a call that broke off, or whose tool has no function here."""
    if not call.ended:
        words = f"the text ended inside this call of {tool.name}; write the whole call again"
        return Failure(code="unended_call", message=words)
    return Failure(code="not_runnable", message=_UNABLE.format(name=tool.name))


def _unfit(call: Call, tool: Tool, checked: Checked) -> Failure:
    """Return the failure of a call whose input does not fit its tool, or is nested too deep."""
    if not checked.faults:
        return Failure(code="invalid_input", message=f"{tool.name}: nested too deep")
    if words := unbound(call, tool.spec):
        return Failure(code="invalid_input", message=f"{tool.name}: {words}")
    hint = quoting_hint(call, tool.spec, checked.faults)
    return Failure(
        code="invalid_input",
        message="\n".join(filter(None, (f"{tool.name}: {faults_text(checked.faults)}", hint))),
        details={fault.field: fault.problem for fault in checked.faults},
    )


def _unknown(name: str, known: tuple[str, ...], install: str) -> Failure:
    close = close_to(name, known)
    if install:
        hint = f"it is not installed here: {install}"
    elif close:
        hint = f"did you mean {close}?"
    else:
        hint = f"there are: {listed(known)}" if known else "there are none"
    return Failure(code="unknown_tool", message=f"no tool is called {brief(name)}; {hint}")


# --- A call as the policy judged it, before anybody is asked ---


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
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


# --- One user message and everything that answers it, as far as running calls is concerned ---
#
# A turn is tainted once text of others entered it: a web page, a mail, somebody's file. Such text
# may instruct the model (prompt injection), so from then on a policy asks before calls that could
# do harm. A taint is never removed within a turn.


class Turn:
    """The state that the calls of one turn share: an id, its taints, and whether it was stopped.

    `user` is the owner of the turn, where several share a program. `stop` must be called in the
    thread of the event loop.
    """

    def __init__(
        self, id: str | None = None, *, tainted: tuple[str, ...] = (), user: str = ""
    ) -> None:
        self.id = id or secrets.token_hex(8)
        self.user = user
        self.stopped = False
        self._taints: dict[str, str] = {}
        for why in tainted:
            self.taint(why)
        self._taken = set(self._weights())
        # Whether `take_new_taints` may return something.
        self.has_new_taints = False
        self._signal: asyncio.Future[None] | None = None
        # The calls that a person cancelled, and what wakes those that run.
        self._cancelled: set[str] = set()
        self._signals: dict[str, asyncio.Future[None]] = {}

    @property
    def tainted(self) -> tuple[str, ...]:
        """Return the sources of text of others, in the order of arrival; empty where there
        is none.
        """
        return tuple(self._taints.values())

    def taint(self, why: str) -> None:
        """Note that text of others came in; a `ContainedTaint` counts for fewer calls."""
        add_taint(self._taints, why)
        self.has_new_taints = True

    def take_new_taints(self) -> list[str]:
        """Return the reasons added since the last call, to be recorded.

        A reason that was contained and now counts for all calls is new.
        """
        new = [why for weight, why in self._weights().items() if weight not in self._taken]
        self._taken.update(self._weights())
        self.has_new_taints = False
        return new

    def _weights(self) -> dict[tuple[str, bool], str]:
        return {(str(why), isinstance(why, ContainedTaint)): why for why in self._taints.values()}

    def stop(self) -> None:
        """Cancel what runs, and start nothing more: each remaining call gets the outcome
        `cancelled`.
        """
        self.stopped = True
        if self._signal is not None and not self._signal.done():
            self._signal.set_result(None)

    def cancel(self, call: str) -> bool:
        """Cancel one call that runs, and let the turn go on; return whether it ran."""
        signal = self._signals.get(call)
        if signal is None or signal.done():
            return False
        self._cancelled.add(call)
        signal.set_result(None)
        return True

    def has_cancelled(self, call: str) -> bool:
        """Return whether a call was cancelled, alone or with the turn."""
        return self.stopped or call in self._cancelled

    async def wait_for_call(self, work: asyncio.Future[Any], seconds: float, call: str) -> bool:
        """Wait as `wait` does, for a call that can be cancelled alone."""
        self._signals[call] = signal = asyncio.get_running_loop().create_future()
        try:
            return await self.wait(work, seconds, signal)
        finally:
            del self._signals[call]

    async def wait(
        self,
        work: asyncio.Future[Any],
        seconds: float | None = None,
        signal: asyncio.Future[None] | None = None,
    ) -> bool:
        """Wait for some work, a timeout, a signal or the stop of the turn; return whether the work
        is done.
        """
        loop = asyncio.get_running_loop()
        # A turn may be resumed in another event loop; a future belongs to one.
        if self._signal is None or self._signal.get_loop() is not loop:
            self._signal = loop.create_future()
        if not self.stopped and not work.done():
            ends = {work, self._signal, *([] if signal is None else [signal])}
            await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return work.done()


# --- What a runtime tells of a call before its outcome ---


class Judged(msgspec.Struct, frozen=True):
    """The policy's judgement of a call, or the failure that stops it whatever the policy says."""

    call: Call
    verdict: Judgement | Failure


Progress: TypeAlias = CallBegan | CallTold
Listener: TypeAlias = Callable[[Progress], None]
