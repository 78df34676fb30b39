"""The runtime: calls in, outcomes out, as they finish.

    runtime = Runtime(registry, policy)
    async for outcome in runtime.run(parsed.calls):
        ...

Every call gets exactly one outcome, whatever happens to it. Without a policy nothing runs.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import inspect
import json
import os
import time
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from callblocks.core.call_text import format_size
from callblocks.core.calls import Call, CheckedCall
from callblocks.core.errors import BadPolicy, ToolError
from callblocks.core.events import CallBegan, CallTold
from callblocks.core.json_values import plain, to_json_value
from callblocks.core.outcomes import Artifact, Failure, Notice, Outcome, without_verdict
from callblocks.core.redaction import redact, without_secrets
from callblocks.core.specs import ToolSpecs
from callblocks.core.text import brief
from callblocks.guard.files.origins import Origins
from callblocks.guard.files.root import CALL_FILES, CallFiles
from callblocks.guard.workers.threads import (
    Budget,
    Budgets,
    TellPlace,
    contained,
    run_in_thread,
    run_to_end,
)
from callblocks.guard.workers.worker_process import run_isolated
from callblocks.policy.policy import Policy, path_refusal, redirect_refusal
from callblocks.policy.rules import ContainedTaint, taint_by
from callblocks.runtime.gate import Approving, Gate, Resolve, tracking
from callblocks.runtime.journal import Intent, Journal, JournalUnavailable
from callblocks.runtime.judgement import (
    Judged,
    Judgement,
    Listener,
    Turn,
)
from callblocks.tools.check import safe_failure, safe_notice, safe_text, told, words_of
from callblocks.tools.registry import Registry
from callblocks.tools.tool import RUNNING_CALL, Context, Keep, Tool, unwrap

__all__ = (
    "RunLimits",
    "Running",
    "Runtime",
    "Spilled",
    "batches",
    "budget_of",
    "idempotency_key",
    "invoke",
    "priority",
    "spill",
)

# --- The idempotency key of a call: equal for the same call of the same turn, and for no other ---


def idempotency_key(turn: str, call: Call) -> str:
    """Return 32 hexadecimal digits derived from the turn, the call's id, its tool and its input."""
    # A list, not a joined string: no choice of ids can move text from one field into the next.
    said = json.dumps([turn, call.id, call.name, call.input], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:32]


# --- Spilling: a long output is stored whole as a file, and its start stays in the outcome ---
#
#     first lines …
#     ... (2.3MB in all, kept as artifacts/4f/…/c1.txt)
#
# Nothing is lost: where the file cannot be stored, the output stays whole in the outcome.


class Spilled(msgspec.Struct, frozen=True):
    """The output that stays, the file that holds all of it, and notices."""

    output: Any
    artifacts: tuple[Artifact, ...] = ()
    notices: tuple[Notice, ...] = ()


def spill(output: Any, name: str, limit: int, keep: Keep | None) -> Spilled:
    """Store an output of more than `limit` characters in a file named after `name`."""
    text, ending, mime = _written(output)
    if len(text) <= limit or keep is None:
        return Spilled(output)
    content = text.encode()
    try:
        artifact = keep(f"{name}.{ending}", content, mime)
    # Losing the output would be worse than a long outcome, so it stays whole.
    except OSError as error:
        told = f"the whole output could not be kept: {error.strerror or error}"
        return Spilled(output, notices=(Notice(code="not_kept", message=told),))
    told = f"... ({format_size(len(content))} in all, kept as {artifact.path})"
    return Spilled(f"{text[:limit]}\n{told}", (artifact,))


def _written(output: Any) -> tuple[str, str, str]:
    if isinstance(output, str):
        return output, "txt", "text/plain"
    text = msgspec.json.encode(output).decode()
    return text, "json", "application/json"


# --- One function of a tool, run until it returns, its time is up, or the turn is stopped ---

# Seconds that a function gets to end after it was cancelled.
_GRACE = 1.0


async def invoke(
    tool: Tool,
    values: dict[str, Any],
    context: Context,
    turn: Turn,
    seconds: float,
    files: CallFiles | None = None,
) -> Any:
    """Return the value of the function; raise its exception, or `ToolError` timeout or cancelled.

    `files` are those of the call, so that its paths lead to what was judged.
    """
    # The task or thread that `begin` starts copies the context in which it is created: one of this
    # call alone, so that the caller's own stays unchanged.
    begin = _starter(tool, values, context)
    scope = contextvars.copy_context()
    scope.run(RUNNING_CALL.set, context)
    scope.run(CALL_FILES.set, files or CallFiles())
    task = scope.run(begin)
    try:
        if await turn.wait_for_call(task, seconds, context.call_id):
            return _result(task)
        is_cancelled = turn.has_cancelled(context.call_id)
        code, why = ("cancelled", "stopped") if is_cancelled else ("timeout", f"{seconds:g} s")
        raise ToolError(code, _WORDS[code].format(name=tool.name, why=why))
    finally:
        # Set even on success: a thread that the tool left behind sees that nobody waits any more.
        context.cancelled = True
        await _end(task)


_WORDS = {
    "timeout": "{name} was stopped after {why}. What it did until then may be incomplete.",
    "cancelled": "{name} was {why} before it finished. What it did until then may be incomplete.",
}


def _starter(
    tool: Tool, values: dict[str, Any], context: Context
) -> Callable[[], asyncio.Future[Any]]:
    """Return a function that starts the tool: in a process, as a task, or in a thread."""
    function = tool.function
    assert function is not None
    if tool.isolated:
        return lambda: asyncio.ensure_future(run_isolated(tool, values))
    given = values if tool.context is None else {**values, tool.context: context}
    if inspect.iscoroutinefunction(function):
        return lambda: asyncio.ensure_future(contained(lambda: function(**given)))
    return partial(run_in_thread, partial(run_to_end, function, given))


def _result(task: asyncio.Future[Any]) -> Any:
    """Return the value or raise the exception; a tool that cancels itself cancels nothing else."""
    if task.cancelled():
        raise ToolError("tool_error", "the tool gave itself up")
    return task.result()


async def _end(task: asyncio.Future[Any]) -> None:
    """Cancel what still runs; a task that does not end in time is abandoned."""
    if task.done():
        return
    task.cancel()
    await asyncio.wait({task}, timeout=_GRACE)
    if not task.done():
        task.add_done_callback(_drop)
    elif not task.cancelled():
        task.exception()


def _drop(task: asyncio.Future[Any]) -> None:
    """Retrieve the exception of an abandoned task, so that asyncio does not log it as
    unretrieved.
    """
    if not task.cancelled():
        task.exception()


# --- Running an admitted call: journal, budget, tool, redaction and output limit ---


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a run.

    `seconds` is for a tool that names no time limit of its own; `output` is the number of
    characters that stay in an outcome, the rest spills to a file; `parallel` calls run at once.
    """

    seconds: float = 120.0
    output: int = 50_000
    parallel: int = 8


# `Gate.confirm`: the call that runs, its turn, and the question.
ConfirmCall: TypeAlias = Callable[
    [Judgement, Turn, str, dict[str, Any], str, str], Awaitable[str | None]
]


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
        confirm: ConfirmCall | None = None,
    ) -> None:
        self._limits = limits
        self._confirm = confirm
        self._budgets = budgets
        self._journal = journal
        self._keep = keep
        self._origins = origins

    async def run(self, weighed: Judgement, turn: Turn, listen: Listener | None) -> Outcome:
        """Run a call that was let through; only the end of the program raises.

        A call that starts a process waits for a slot first. Waiting is not recorded in the journal:
        until the call has a slot, nothing has begun.
        """
        budget = self._budgets and budget_of(weighed.tool, self._budgets)
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

    async def _run(self, weighed: Judgement, turn: Turn, listen: Listener | None) -> Outcome:
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
        self, weighed: Judgement, turn: Turn, listen: Listener | None, key: str
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
            confirm=self._confirm and partial(self._confirm, weighed, turn),
        )
        if listen is not None:
            listen(CallBegan(id=call.id))
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
        self, weighed: Judgement, context: Context, turn: Turn
    ) -> tuple[Any, Failure | None]:
        """Return the output without secrets, and the failure."""
        tool = weighed.tool
        seconds = tool.timeout or self._limits.seconds
        try:
            with tracking(self._origins, weighed, context):
                value = await invoke(tool, weighed.values, context, turn, seconds, weighed.files)
            # Converted to plain JSON before unwrapping: an object of the tool with odd
            # `__getitem__` or `__eq__` never reaches our own code.
            output, failure = unwrap(to_json_value(value), tool.origin)
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

    def _begin(self, weighed: Judgement, turn: Turn, key: str) -> Outcome | None:
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


def budget_of(tool: Tool, budgets: Budgets) -> Budget | None:
    """Return the budget for the processes of a tool; `None` where it starts no process."""
    if tool.traits.kind == "exec":
        return budgets.sandboxes
    is_apart = tool.isolated or tool.traits.result == "rendering"
    return budgets.renderers if is_apart else None


def _refused(call: Call, code: str, message: str) -> Outcome:
    return Outcome(id=call.id, name=call.name, error=Failure(code=code, message=message))


def _place_teller(id: str, listen: Listener | None) -> TellPlace | None:
    if listen is None:
        return None

    def tell(before: int) -> None:
        others = "1 other call" if before == 1 else f"{before} other calls"
        words = f"waits behind {others}" if before else "waits, and is the next"
        listen(CallTold(id=id, text=f"{words}\n"))

    return tell


def _reporter(id: str, listen: Listener | None) -> Callable[[str], None] | None:
    if listen is None:
        return None

    def report(text: str) -> None:
        listen(CallTold(id=id, text=redact(text)))

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


# --- The order in which calls run ---
#
#     priority 2   read_a, read_b        higher first; these two change nothing: in parallel
#     priority 0   read_c                again in parallel, alone here
#                  write_d               a change is a barrier: it runs alone, between the others
#                  read_e, read_f
#
# Ties run in the order written. An unknown tool counts as read-only, because its outcome is a
# failure in any case.


def batches(calls: Iterable[Call], registry: Registry) -> list[list[Call]]:
    """Return batches of calls in running order; the calls of one batch run in parallel."""
    ordered = sorted(calls, key=priority, reverse=True)
    if len(ordered) < 2:
        return [ordered] if ordered else []
    found: list[list[Call]] = []
    last: tuple[float, bool] | None = None
    for call in ordered:
        place = (priority(call), _quiet(call, registry))
        # Only neighbours of the same priority that both change nothing may share a batch.
        if place == last and place[1]:
            found[-1].append(call)
        else:
            found.append([call])
        last = place
    return found


def priority(call: Call) -> float:
    """Return the priority of a call; anything that is no number counts as 0."""
    given = call.extra.get("priority", 0)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return 0
    # Not `math.isnan`: it raises OverflowError for an integer that no float can hold.
    return 0 if given != given else given  # noqa: PLR0124 NaN alone differs from itself


def _quiet(call: Call, registry: Registry) -> bool:
    tool = registry.get(call.name)
    return tool is None or tool.traits.read_only


# --- The runtime: calls in, outcomes out, as they finish ---
#
#     runtime = Runtime(registry, policy)
#     async for outcome in runtime.run(parsed.calls):
#         ...
#
# Every call gets exactly one outcome, whatever happens to it, and a failure of one call does not
# affect the others. Without a policy nothing runs.


class Runtime:
    """The runner of calls under a policy.

    `approving` asks a person; without it, calls that the policy does not allow are refused.
    `journal` records each change before it happens. `keep` stores files and outputs that are too
    long. `resolve` gives the real path that a policy judges. `origins` are those of the workspace:
    which of its files hold text of others. `budgets` are shared with everything else that starts
    processes.
    """

    def __init__(
        self,
        registry: Registry | ToolSpecs,
        policy: Policy | None = None,
        *,
        approving: Approving | None = None,
        journal: Journal | None = None,
        keep: Keep | None = None,
        resolve: Resolve | None = None,
        origins: Origins | None = None,
        limits: RunLimits | None = None,
        budgets: Budgets | None = None,
    ) -> None:
        registry = registry if isinstance(registry, Registry) else Registry(registry)
        if policy is not None and not isinstance(policy, Policy):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
            raise BadPolicy(f"{brief(policy)} is no Policy; Policy.from_file(path) reads one")
        self.registry = registry
        self.gate = Gate(registry, policy or Policy(), approving or Approving(), resolve, origins)
        self._limits = limits or RunLimits()
        self._running = Running(
            self._limits,
            journal=journal,
            keep=keep,
            budgets=budgets,
            origins=origins,
            confirm=self.gate.confirm,
        )

    def plan(self, calls: Iterable[Call], turn: Turn | None = None) -> list[Judged]:
        """Return the judgement of each call in running order; nothing is run and nobody is
        asked.
        """
        weighing = turn or Turn()
        return [
            Judged(call, self.gate.weigh(call, weighing))
            for batch in batches(calls, self.registry)
            for call in batch
        ]

    def check(self, call: Call) -> CheckedCall | None:
        """Return a call as its tool gets it, to record it; `None` if it cannot run."""
        return self.gate.check(call)

    async def run(
        self,
        calls: Iterable[Call],
        turn: Turn | None = None,
        listen: Listener | None = None,
        judged: Callable[[Judged], None] | None = None,
    ) -> AsyncGenerator[Outcome]:
        """Run calls and yield their outcomes; closing the iterator cancels what still runs.

        `judged` is told of each call before anything is done with it, and `listen` of what happens
        while it runs.
        """
        current = turn or Turn()
        one = partial(self._one, turn=current, listen=listen, judged=judged)
        for batch in batches(calls, self.registry):
            if len(batch) == 1:
                yield await one(batch[0])
            else:
                async for outcome in self._side_by_side(batch, one):
                    yield outcome

    async def _side_by_side(
        self, batch: list[Call], run: Callable[[Call], Awaitable[Outcome]]
    ) -> AsyncGenerator[Outcome]:
        room = asyncio.Semaphore(self._limits.parallel)

        async def one(call: Call) -> Outcome:
            async with room:
                return await run(call)

        waiting = {asyncio.ensure_future(one(call)) for call in batch}
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            # The consumer may stop iterating at any outcome; no call may go on running unobserved.
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _one(
        self,
        call: Call,
        *,
        turn: Turn,
        listen: Listener | None,
        judged: Callable[[Judged], None] | None,
    ) -> Outcome:
        if turn.stopped:
            stopped = Failure(code="cancelled", message="the turn was stopped before this call")
            return Outcome(id=call.id, name=call.name, error=stopped)
        # Judged here, immediately before it runs, and not for the whole batch in advance: an
        # earlier call may have tainted the turn or changed the file that this one names.
        weighed = self.gate.weigh(call, turn)
        if judged is not None:
            judged(Judged(call, weighed))
        if isinstance(weighed, Failure):
            return Outcome(id=call.id, name=call.name, error=weighed)
        refusal = await self.gate.refusal(weighed, turn)
        if refusal is not None:
            return Outcome(id=call.id, name=call.name, error=refusal)
        outcome = await self._running.run(weighed, turn, listen)
        # A call that stands for another keeps the name that the model wrote.
        return replace(outcome, name=call.name)
