"""Running an admitted call: journal, budget, tool, redaction and output limit."""

from __future__ import annotations

import asyncio
import os
import time
import traceback
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import msgspec

from callblocks.model.calls import Call
from callblocks.model.errors import ToolError
from callblocks.model.outcomes import Failure, Notice, Outcome
from callblocks.model.redaction import redact
from callblocks.model.secret_values import without_secrets
from callblocks.model.verdicts import without_verdict
from callblocks.runtime.budgets import Budgets, TellPlace
from callblocks.runtime.invoking import invoke
from callblocks.runtime.journal import Intent, Journal, JournalUnavailable
from callblocks.runtime.keys import idempotency_key
from callblocks.runtime.origins.origins import Origins
from callblocks.runtime.origins.tracking import tracking
from callblocks.runtime.plain import plain
from callblocks.runtime.policy.met_paths import path_refusal
from callblocks.runtime.policy.redirects import redirect_refusal
from callblocks.runtime.policy.taints import ContainedTaint, taint_by
from callblocks.runtime.progress import Began, Listener, Said
from callblocks.runtime.spilling import spill
from callblocks.runtime.told import safe_failure, safe_notice, safe_text, told, words_of
from callblocks.runtime.turn import Turn
from callblocks.runtime.weighed import Weighed
from callblocks.tools.context import Context, Keep
from callblocks.tools.envelope import unwrap
from callblocks.tools.tool import Tool

__all__ = ("RunLimits", "Running")


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a run.

    `seconds` is for a tool that names no time limit of its own; `output` is the number of
    characters that stay in an outcome, the rest spills to a file; `parallel` calls run at once.
    """

    seconds: float = 120.0
    output: int = 50_000
    parallel: int = 8


class Running:
    """The runner of calls; it holds no state of them."""

    def __init__(
        self,
        limits: RunLimits,
        *,
        journal: Journal | None,
        keep: Keep | None,
        budgets: Budgets | None = None,
        origins: Origins | None = None,
    ) -> None:
        self._limits = limits
        self._budgets = budgets
        self._journal = journal
        self._keep = keep
        self._origins = origins

    async def run(self, weighed: Weighed, turn: Turn, listen: Listener | None) -> Outcome:
        """Run a call that was let through; only the end of the program raises.

        A call that starts a process waits for a slot first. Waiting is not recorded in the journal:
        until the call has a slot, nothing has begun.
        """
        budget = self._budgets and self._budgets.of_tool(weighed.tool)
        if budget is None:
            return await self._run(weighed, turn, listen)
        async with AsyncExitStack() as stack:
            tell = _place_teller(weighed.call.id, listen)
            place = budget.place(turn.user, tell)
            entering = asyncio.ensure_future(stack.enter_async_context(place))
            try:
                has_place = await turn.wait(entering)
            finally:
                # Cancelled also on success: `enter_async_context` is then done, and cancelling a
                # done task does nothing. On a stop or an exception it leaves the queue.
                entering.cancel()
                await asyncio.gather(entering, return_exceptions=True)
            if not has_place:
                words = f"{weighed.tool.name} did not run: it was stopped in a queue for a place"
                return _refused(weighed.call, "cancelled", words)
            if entering.exception() is not None:
                words = f"too many calls wait for a place already; try {weighed.tool.name} later"
                return _refused(weighed.call, "limit_reached", words)
            return await self._run(weighed, turn, listen)

    async def _run(self, weighed: Weighed, turn: Turn, listen: Listener | None) -> Outcome:
        call, tool = weighed.call, weighed.tool
        # A read-only call needs no key: repeating it does no harm.
        key = "" if tool.traits.read_only else idempotency_key(turn.id, call)
        recorded = not tool.traits.read_only and self._journal is not None
        if recorded and (past := self._begin(weighed, turn, key)) is not None:
            if past.error is None or past.error.code not in ("not_kept", "indeterminate"):
                # The journal does not record whether an outcome holds text of others, so a replayed
                # one taints.
                turn.taint(f"the result of {tool.name} in the journal")
            return past
        outcome = await self._perform(weighed, turn, listen, key)
        return self._end(key, outcome) if recorded else outcome

    async def _perform(
        self, weighed: Weighed, turn: Turn, listen: Listener | None, key: str
    ) -> Outcome:
        call, tool, began = weighed.call, weighed.tool, time.monotonic()
        context = Context(
            call.id,
            key,
            report=_reporter(call.id, listen),
            keep=self._keep,
            judge=lambda url: redirect_refusal(weighed.policy, weighed.facts, url),
            judge_path=lambda path: path_refusal(weighed.policy, weighed.facts, path),
            tainted=lambda: (*turn.tainted, *_taints(tool, context)),
        )
        if listen is not None:
            listen(Began(call.id))
        output, failure = await self._answer(weighed, context, turn)
        # Taint before the outcome is returned, so that no later call of the turn is judged as
        # clean.
        for why in _taints(tool, context):
            turn.taint(why)
        # After redaction, so that the stored file has no secret either.
        spilled = spill(output, call.id, self._limits.output, self._keep)
        return Outcome(
            id=call.id,
            name=call.name,
            output=spilled.output,
            error=failure and without_verdict(failure),
            artifacts=(*context.artifacts, *spilled.artifacts),
            notices=(*map(safe_notice, context.notices), *spilled.notices),
            seconds=time.monotonic() - began,
        )

    async def _answer(
        self, weighed: Weighed, context: Context, turn: Turn
    ) -> tuple[Any, Failure | None]:
        """Return the output without secrets, and the failure."""
        tool = weighed.tool
        seconds = tool.timeout or self._limits.seconds
        try:
            with tracking(self._origins, weighed, context):
                value = await invoke(tool, weighed.values, context, turn, seconds, weighed.files)
            # Converted to plain JSON before unwrapping: an object of the tool with odd
            # `__getitem__` or `__eq__` never reaches our own code.
            output, failure = unwrap(plain(value), tool.origin)
        except ToolError as error:
            return None, told(tool, error)
        except Exception as error:
            return None, _unexpected(tool, error)
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
            # Converting the output runs code of the tool (`__str__`, `model_dump`), which may raise
            # anything.
            words = f"{type(error).__name__} when its output was read"
            return None, Failure(code="bad_output", message=words, where=tool.name)
        return without_secrets(output), failure and safe_failure(failure)

    def _begin(self, weighed: Weighed, turn: Turn, key: str) -> Outcome | None:
        """Record the intent and return `None`; or return the outcome where the call must
        not run.
        """
        assert self._journal is not None
        call, tool = weighed.call, weighed.tool
        kept = without_secrets(plain(weighed.checked.input))
        intent = Intent(key=key, turn=turn.id, call=call.id, tool=tool.name, input=kept)
        try:
            past = self._journal.begin(intent)
            if past is None:
                return None
            if past.outcome is not None:
                return past.outcome
            # The one case in which repeating is harmless by the tool's own declaration.
            if past.state == "indeterminate" and tool.traits.idempotent:
                self._journal.again(key)
                return None
        except JournalUnavailable as error:
            words = f"{tool.name} did not run, because that could not be recorded: {error}"
            return _refused(call, "not_kept", words)
        words = f"an earlier run of this call of {tool.name} never said how it ended"
        return _refused(call, "indeterminate", f"{words}; look before it is done again")

    def _end(self, key: str, outcome: Outcome) -> Outcome:
        assert self._journal is not None
        try:
            self._journal.end(key, outcome)
        except JournalUnavailable as error:
            told = Notice(code="not_kept", message=f"the end was not recorded: {error}")
            return msgspec.structs.replace(outcome, notices=(*outcome.notices, told))
        return outcome


def _refused(call: Call, code: str, message: str) -> Outcome:
    return Outcome(id=call.id, name=call.name, error=Failure(code=code, message=message))


def _place_teller(id: str, listen: Listener | None) -> TellPlace | None:
    if listen is None:
        return None

    def tell(before: int) -> None:
        others = "1 other call" if before == 1 else f"{before} other calls"
        words = f"waits behind {others}" if before else "waits, and is the next"
        listen(Said(id, f"{words}\n"))

    return tell


def _reporter(id: str, listen: Listener | None) -> Callable[[str], None] | None:
    if listen is None:
        return None

    def report(text: str) -> None:
        listen(Said(id, redact(text)))

    return report


def _taints(tool: Tool, context: Context) -> list[str]:
    """Return the sources of text of others: those the tool named, else the tool itself."""
    said = list(context.taints)
    is_known = any(not isinstance(why, ContainedTaint) for why in said)
    if tool.brings_text_of_others and not is_known:
        said.append(tool.name)
    return [taint_by(tool, tool.traits, _safe_taint(why)) for why in said]


def _safe_taint(why: str) -> str:
    """Return a reason as text; a tool may have passed any object."""
    text = safe_text(why)
    return ContainedTaint(text) if isinstance(why, ContainedTaint) else text


def _unexpected(tool: Tool, error: Exception) -> Failure:
    """Describe an unexpected exception, with the last line in the tool's own file."""
    code = getattr(tool.function, "__code__", None)
    own = getattr(code, "co_filename", "")
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == own]
    where = f"{tool.name}, {os.path.basename(own)} line {lines[-1]}" if lines else tool.name
    words = f"{type(error).__name__}: {words_of(error)}".removesuffix(": ")
    return safe_failure(Failure(code="tool_error", message=words, where=where))
