"""The gate between a call and its tool, and a person's approval where the policy asks for it."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import msgspec

from callblocks.approvals.approval import (
    Approval,
    ApprovalsUnavailable,
    BadApproval,
    Taken,
    fingerprint,
    grant_key,
)
from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import (
    Answer,
    Asker,
    Grant,
    LetThrough,
    Question,
    Settled,
    show_call,
)
from callblocks.core.calls import Call, CheckedCall
from callblocks.core.errors import ToolError
from callblocks.core.outcomes import Failure
from callblocks.core.specs import ToolSpec
from callblocks.guard.files.origins import Origins
from callblocks.guard.files.root import CALL_FILES, CallFiles, in_call
from callblocks.guard.workers.threads import run_in_thread
from callblocks.policy.policy import Decision, Policy
from callblocks.policy.rules import ContainedTaint, Facts, gather, may_leave_by
from callblocks.runtime.judgement import Judgement, TakenCall, Turn, checked_call, take_call
from callblocks.tools.check import told
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Checked, Context, Precheck, Tool, running_as

__all__ = (
    "Approving",
    "Gate",
    "Resolve",
    "carried_taints",
    "preview_of",
    "question_of",
    "tracking",
)

# --- The question to a person before a call runs: the call, the reason, and its preview ---

# Seconds that a tool may take for its preview.
_SECONDS = 10.0


# Codes of faults in the call itself, which no approval can cure. A fault with another code may be
# temporary, so the person is still asked.
_OWN_FAULTS = frozenset(
    (
        *("invalid_input", "not_found", "invalid_url", "unsafe_path", "protected_path"),
        *(
            "path_not_found",
            "path_exists",
            "path_changed",
            "wrong_file_type",
            "file_too_large",
            "not_text",
        ),
    )
)


async def preview_of(weighed: Judgement, turn: Turn) -> str | Failure:
    """Return the tool's preview of the change, or the failure that makes the call impossible.

    "" where the tool has no preview. A tool's words about a fault taint the turn as its outcome
    would.
    """
    refusal = await _prechecked(weighed, turn)
    return refusal or await _previewed(weighed, turn)


async def _prechecked(weighed: Judgement, turn: Turn) -> Failure | None:
    """Return the failure that the tool can predict, or `None`."""
    tool, precheck = weighed.tool, weighed.tool.precheck
    if precheck is None:
        return None
    context = Context(tainted=lambda: turn.tainted)
    # The precheck runs on the pinned files of the judgement, as the call itself will.
    with running_as(context), in_call(weighed.files):
        checked = _started(lambda: precheck(**weighed.values), precheck)
    try:
        if await turn.wait(checked, _SECONDS):
            checked.result()
    except ToolError as error:
        _taint(turn, tool, context)
        return told(tool, error)
    except Exception:  # whatever else it does, the person is still asked
        return None
    finally:
        checked.cancel()
    return None


def _taint(turn: Turn, tool: Tool, context: Context) -> None:
    """Taint a turn by the words of a tool about a fault, as its outcome would."""
    for why in (*context.taints, *([tool.name] if tool.brings_text_of_others else [])):
        turn.taint(why)


def _started(begin: Callable[[], Any], function: Precheck) -> asyncio.Future[Any]:
    if inspect.iscoroutinefunction(function):
        return asyncio.ensure_future(begin())
    return run_in_thread(begin)


async def _previewed(weighed: Judgement, turn: Turn) -> str | Failure:
    tool, preview = weighed.tool, weighed.tool.preview
    if preview is None:
        return ""
    context = Context(tainted=lambda: turn.tainted)
    with running_as(context), in_call(weighed.files):
        shown = run_in_thread(lambda: str(preview(**weighed.values)))
    try:
        if not await turn.wait(shown, _SECONDS):
            return _unknown("that takes too long")
        return shown.result()
    except ToolError as error:
        failure = told(tool, error)
        if failure.code not in _OWN_FAULTS:
            return _unknown(failure.message)
        _taint(turn, tool, context)
        return failure
    except Exception as error:  # whatever else a preview does, the person is still asked
        return _unknown(_words(error))
    finally:
        shown.cancel()


def question_of(weighed: Judgement, approval_id: str, preview: str) -> Question:
    """Return the question for the person."""
    return Question(
        call=weighed.call,
        tool=weighed.tool,
        approval_id=approval_id,
        reason=weighed.decision.reason,
        preview=preview,
        tainted=weighed.facts.tainted,
        read=weighed.read,
    )


def _unknown(why: str) -> str:
    return f"(what it would change is not known: {why})"


def _words(error: Exception) -> str:
    try:
        return str(error)
    except BaseException:  # an exception of a tool may do anything when it is shown
        return type(error).__name__


# --- Obtaining a person's approval for one exact call ---
#
# Order: an earlier approval or grant in the book is used first; otherwise, if an asker is present,
# the person is asked, one question at a time.
#
# Invariants
# - Only the book decides. The asker's answer is written into the book, and the call runs only if
#   `book.take` then returns `used`. An answer that came too late, for other arguments, or that was
#   revoked meanwhile therefore counts for nothing.
# - One answer lets one call run. Two tasks that ask about the same call share one question in the
#   book; the task that finds the answer already used asks again.
# - The call is bound to its approval by `_bond`, which is computed again after the answer: a link
#   turned or a file changed while the person was thinking gives `approval_mismatch`.
# - Where the book cannot be used, nothing is approved.
# - Nobody is asked about a call that cannot work: its precheck or its preview says so first.


class Approving:
    """The approvals of one conversation. `book` stores answers, `asker` asks, `place` is the
    workspace.

    `settled` is called with the answer to every question that does not stay open, and `let_through`
    with every call that a grant lets run without a question. `within` is the conversation, or one
    turn of it, to which a one-time approval is confined; a grant counts in the whole workspace.
    """

    def __init__(
        self,
        book: ApprovalBook | None = None,
        asker: Asker | None = None,
        place: str = "",
        settled: Settled | None = None,
        within: str = "",
        let_through: LetThrough | None = None,
    ) -> None:
        self._book = book
        self._asker = asker
        self._place = place
        self._settled = _tell_nobody if settled is None else settled
        self._let_through = let_through
        self._within = within
        self._asked: set[str] = set()
        self._one_at_a_time = asyncio.Lock()
        self._denied: set[str] = set()

    @property
    def person(self) -> bool:
        """Return whether a person is present to be asked."""
        return self._asker is not None and self._book is not None

    async def refusal(self, weighed: Judgement, turn: Turn) -> Failure | None:
        """Return `None` where a person approved exactly this call; otherwise the reason why it does
        not run.
        """
        if self._book is None:
            preview = await preview_of(weighed, turn)
            required = _required(weighed, "and nobody can be asked here")
            return _unrunnable(weighed, preview) if isinstance(preview, Failure) else required
        try:
            # One question at a time: parallel calls of a batch would otherwise show several
            # questions at once, and a person could answer the wrong one.
            async with self._one_at_a_time:
                # The previous question may have been open for a long time; the turn may be over by
                # now.
                if turn.stopped:
                    return _failed(weighed, "cancelled", _STOPPED)
                return await self._decide(self._book, weighed, turn)
        except (ApprovalsUnavailable, BadApproval) as error:
            return _required(weighed, f"but approvals cannot be kept: {error}")

    def withdraw(self) -> None:
        """Revoke each open question, and each one-time approval that nothing used; grants stay."""
        while self._asked and self._book is not None:
            # A failure to revoke is harmless: these records expire within minutes.
            with suppress(ApprovalsUnavailable, BadApproval):
                _take_back(self._book, self._asked.pop())

    async def _decide(self, book: ApprovalBook, weighed: Judgement, turn: Turn) -> Failure | None:
        # Strategy. `taken` is the book's last word on this call.
        #
        # The loop body asks once. It is entered while the book neither lets the call run ("used")
        # nor holds a final denial (`_stands`). It is left
        #
        # - with `return`, where no answer can help: the call cannot work, nobody is there, the turn
        #   was stopped, the denial came too late for the book, or the call changed meanwhile;
        # - with `break`, where the book refuses after an answer (denied, expired, revoked);
        # - by its condition, after `take` returned "used";
        # - it repeats only where another call consumed our answer (`is_spent`).
        #
        # The `finally` reports every question as settled exactly once, with the words that the
        # person or the clock gave. A cancelled task is the exception: the program is ending, and
        # the question stays open in the book so that a resumed session can go on with it.
        bond = self._bond(weighed)
        taken = book.take(*bond)
        grant = _grant(taken)
        if grant is not None and self._let_through is not None:
            self._let_through(weighed.call, grant)
        while taken.status != "used" and not self._stands(taken):
            preview = await preview_of(weighed, turn)
            if isinstance(preview, Failure) or self._asker is None:
                return self._unasked(book, weighed, bond, preview, taken)
            asked = self._request(book, weighed, bond, preview)
            question = question_of(weighed, asked.id, preview)
            words, is_spent, is_cut = "", False, False
            try:
                answer = await _answer(self._asker(question), turn)
                words = "" if answer is None else answer.reason
                if turn.stopped:
                    words = _STOPPED
                    return _failed(weighed, "cancelled", words)
                if answer is None and _is_open(book, asked):
                    return _waiting(weighed, taken, asked)
                if answer is not None and not self._noted(book, asked, answer):
                    return _refused(weighed, Taken(status="denied"), words)
                # The approval is for the call as it was shown, so the bond must not have changed
                # since.
                if self._bond(weighed) != bond:
                    return _failed(weighed, "approval_mismatch", "its arguments changed meanwhile")
                taken = book.take(*bond)
                is_spent = _is_spent(book, asked, taken)
            except asyncio.CancelledError:
                # The program ends, and the question stays for whoever goes on.
                is_cut = True
                raise
            finally:
                if not is_cut:
                    said = _SPENT if is_spent else words or _unanswered(taken)
                    self._settled(question, taken.ok, said, _grant(taken))
            if not taken.ok and not is_spent:
                break
        return None if taken.ok else _refused(weighed, taken)

    def _unasked(
        self,
        book: ApprovalBook,
        weighed: Judgement,
        bond: tuple[str, str],
        preview: str | Failure,
        taken: Taken,
    ) -> Failure:
        """Return why a call fails without asking: it cannot work, or nobody is there to ask."""
        if isinstance(preview, Failure):
            return _unrunnable(weighed, preview)
        return _waiting(weighed, taken, self._request(book, weighed, bond, preview))

    def _noted(self, book: ApprovalBook, asked: Approval, answer: Answer) -> bool:
        """Store the answer in the book; return false for a denial that the book no longer
        accepts.
        """
        is_no = answer.verdict == "deny"
        if is_no:
            self._denied.add(asked.id)
        return _recorded(book, asked, answer) or not is_no

    def _stands(self, taken: Taken) -> bool:
        """Return whether a denial is final: given here, or with nobody present to ask again."""
        if taken.status != "denied":
            return False
        return self._asker is None or (taken.approval and taken.approval.id) in self._denied

    def _bond(self, weighed: Judgement) -> tuple[str, str]:
        """Return the fingerprint that binds an approval, and the grant key of the tool."""
        tool, digest = weighed.tool, weighed.policy.digest
        facts, tainted = weighed.facts, bool(weighed.facts.tainted)
        # `facts.paths` are real paths: turning a link while the person thinks changes the
        # fingerprint.
        bound = [self._place, facts.paths, tainted, self._within]
        # A diff shows one state of a file, so the identity of each shown file is bound as well.
        place = json.dumps([*bound, *weighed.shown_files])
        return (
            fingerprint(tool, weighed.call.input, digest, place=place),
            grant_key(tool, digest, tainted, place=self._place),
        )

    def _request(
        self, book: ApprovalBook, weighed: Judgement, bond: tuple[str, str], preview: str
    ) -> Approval:
        shown = show_call(weighed.tool.name, weighed.call.input, preview)
        asked = book.request(
            fingerprint=bond[0],
            grant_key=bond[1],
            tool=weighed.tool.name,
            shown=shown.text,
            tainted=bool(weighed.facts.tainted),
            is_whole=shown.is_whole,
        )
        self._asked.add(asked.id)
        return asked


async def _answer(asking: Awaitable[Answer | None], turn: Turn) -> Answer | None:
    """Return the person's answer, or `None` once the turn is stopped."""
    # Awaited also after cancellation, so that the asker's own cleanup (closing a dialog) runs
    # before the turn goes on.
    task = asyncio.ensure_future(asking)
    try:
        return task.result() if await turn.wait(task) else None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _is_open(book: ApprovalBook, asked: Approval) -> bool:
    """Return whether a question is still open; an unanswered one may have expired or been
    revoked.
    """
    now = book.get(asked.id)
    return now is None or now.state == "pending"


def _take_back(book: ApprovalBook, id: str) -> None:
    now = book.get(id)
    if now is not None and now.minutes == 0:
        book.revoke(id)


def _is_spent(book: ApprovalBook, asked: Approval, taken: Taken) -> bool:
    """Return whether the answer was used by another call; each call needs an answer of its own."""
    now = None if taken.status in ("used", "denied") else book.get(asked.id)
    return now is not None and now.state == "used"


def _recorded(book: ApprovalBook, asked: Approval, answer: Answer) -> bool:
    """Store the answer; return false if the question is no longer open.

    `saw_all` is true because an asker had the call itself to show, not only the masked text in the
    book.
    """
    try:
        if answer.verdict == "once":
            book.approve(asked.id, saw_all=True)
        elif answer.verdict == "while":
            book.approve_for(asked.id, answer.minutes, saw_all=True)
        else:
            book.deny(asked.id, answer.reason)
    except BadApproval:
        return False
    return True


def _refused(weighed: Judgement, taken: Taken, reason: str = "") -> Failure:
    words = _unanswered(taken) or _WORDS[taken.code].format(reason=reason or taken.reason)
    return _failed(weighed, taken.code, words.rstrip(": "))


def _grant(taken: Taken) -> Grant | None:
    """Return the grant that lets a call run; `None` for a one-time approval or a refusal."""
    approval = taken.approval
    if not taken.ok or approval is None or approval.minutes == 0:
        return None
    return Grant(approval=approval.id, minutes=approval.minutes, expires=approval.expires_at)


def _tell_nobody(_question: Question, _approved: bool, _words: str, _granted: Grant | None) -> None:
    """Ignore the answer: the default of `settled`."""


def _unanswered(taken: Taken) -> str:
    """Return in words how long a question waited unanswered; "" for an answered one."""
    approval = taken.approval
    if taken.status != "expired" or approval is None or approval.answered_at:
        return ""
    seconds = round(approval.expires_at - approval.asked_at)
    count, unit = (seconds // 60, "minute") if seconds >= 60 else (seconds, "second")
    return f"nobody answered in {count} {unit}{'' if count == 1 else 's'}"


_STOPPED = "the turn was stopped"
_SPENT = "another call used this approval; the question is asked again"
_WORDS = {
    "approval_required": "a person must approve it",
    "approval_denied": "a person said no: {reason}",
    "approval_expired": "the approval came too late; ask again",
    "approval_revoked": "the approval was taken back",
    "approval_mismatch": "the approval is for another call",
}


def _waiting(weighed: Judgement, taken: Taken, asked: Approval) -> Failure:
    """Return the failure for an open question, which stays in the book for whoever comes."""
    failure = _refused(weighed, taken)
    words = f"{failure.message} ({weighed.decision.reason}); it waits as {asked.id}"
    words = "; ".join(filter(None, (words, weighed.decision.way_out)))
    return msgspec.structs.replace(failure, message=words, details={"approval": asked.id})


def _required(weighed: Judgement, why: str) -> Failure:
    words = f"a person must approve it ({weighed.decision.reason}), {why}"
    words = "; ".join(filter(None, (words, weighed.decision.way_out)))
    return _failed(weighed, "approval_required", words)


def _unrunnable(weighed: Judgement, failure: Failure) -> Failure:
    """Word a failure that occurred before anybody was asked: nothing ran."""
    words = f"{weighed.tool.name} did not run: {failure.message}"
    return msgspec.structs.replace(failure, message=words)


def _failed(weighed: Judgement, code: str, why: str) -> Failure:
    return Failure(code=code, message=f"{weighed.tool.name} did not run: {why}")


# --- Origins of data that foreign tools reach without the stores of callblocks ---
#
# A built-in tool works on stores that track origins themselves. Of any other tool two things are
# known: the paths in its input, and that it may keep its input in some place of its own. Both are
# marked before it runs, and looked up after it ran.
#
# A call that can send data out takes the files that it names with it, and code with a network may
# take all files. So their taints count for the decision about such a call, in a clean turn too.


@contextmanager
def tracking(origins: Origins | None, weighed: Judgement, context: Context) -> Generator[None]:
    """Mark what a call of a foreign tool may store, and taint it by what it may read."""
    tool = weighed.tool
    if origins is None or tool.origin == "builtin":
        yield
        return
    place, paths = _place(tool), weighed.facts.paths
    writes = [] if tool.traits.read_only else [path for path in paths if path is not None]
    storing = origins.storing(writes, "" if tool.traits.read_only else place)
    _look(origins, tool, place, paths, context)
    with running_as(context), storing:
        try:
            yield
        finally:
            # Another call may have written there meanwhile. Marks that this call made itself are no
            # news.
            if all(isinstance(why, ContainedTaint) for why in context.origins()):
                _look(origins, tool, place, paths, context)


def _place(tool: Tool) -> str:
    """Return the resource where a tool keeps its input; "" where it keeps nothing."""
    return "" if tool.stores == "" else f"tools:{tool.stores or ''}"


def _look(
    origins: Origins, tool: Tool, place: str, paths: Iterable[str | None], context: Context
) -> None:
    kept = origins.of(place, f"what {tool.name} may keep") if place else None
    for why in (kept, *(_of_path(origins, path) for path in paths)):
        if why is not None and why not in context.taints:
            context.taint(why)


def carried_taints(origins: Origins | None, tool: Tool, facts: Facts) -> tuple[str, ...]:
    """Return the taints of the data that a call would send out, beside those of its own input."""
    if origins is None or not may_leave_by(tool, facts.traits):
        return ()
    if tool.is_sandboxed:
        held = origins.holds_foreign()
        return ("files of others, which the code could send",) if held else ()
    paths = facts.paths if tool.carries is None else _carried(tool, facts)
    found = (_of_path(origins, path) for path in paths)
    return tuple(str(why) for why in dict.fromkeys(found) if why is not None)


def _of_path(origins: Origins, path: object) -> str | None:
    """Return why data at a path is text of others; outside of the workspace that is unknown."""
    return origins.of_path(path) if isinstance(path, str) else "a file outside of the workspace"


def _carried(tool: Tool, facts: Facts) -> list[object]:
    assert tool.carries is not None
    try:
        return list(tool.carries(facts.input))
    # An exception must not bypass the judgement: `None` counts as a file outside of the workspace.
    except Exception:  # whatever an input does to it, the call is judged
        return [None]


# --- The gate between a call and its tool: a call that does not pass here does not run ---
#
#     known?  ended?  runnable?  input fits?  alias?  policy: allow | ask | deny  →  approval
#
# Strategy: `weigh` collects facts and asks the policy, without any effect. `refusal` enforces the
# decision, and asks a person where the policy says so.
#
# Invariants
# - Every step fails closed: a step that cannot say yes gives a failure with a code and words for
#   the model and the person.
# - One checked input, made once by `take_call`, is recorded, judged, shown, approved and run. A
#   call that stands for another tool is judged as that other tool.
# - Paths are resolved once, inside `in_call`, and pinned. The tool later opens exactly what was
#   judged.
# - After a person answered, the call is judged again (`_changed`). Minutes may have passed, in
#   which a link was turned, a file edited or the turn tainted.

# Return the real path below the workspace, or `None` for a path that leaves it.
Resolve: TypeAlias = Callable[[str], str | None]


class Gate:
    """The decision about calls, by a policy and by what a person approved."""

    def __init__(
        self,
        registry: Registry,
        policy: Policy,
        approving: Approving,
        resolve: Resolve | None = None,
        origins: Origins | None = None,
    ) -> None:
        self.registry = registry
        self.policy = policy
        self._approving = approving
        self._resolve: Resolve = resolve or (lambda path: None)
        self._origins = origins
        # The calls that were checked before they were judged, with the object that was checked: an
        # equal id alone does not make it the same call.
        self._checked: dict[str, tuple[Call, TakenCall]] = {}

    def check(self, call: Call) -> CheckedCall | None:
        """Return a call as its tool gets it, to record it; `None` if it cannot run.

        `weigh` judges the same input once, so what is recorded is what runs. A call that does not
        fit is checked again when it is judged, for the words of its failure.
        """
        taken = take_call(call, self.registry)
        if isinstance(taken, Failure):
            return None
        self._checked[call.id] = call, taken
        return checked_call(taken)

    def weigh(self, call: Call, turn: Turn) -> Judgement | Failure:
        """Judge a call by the policy; nobody is asked and no approval is used up."""
        return self._weigh(call, turn, "")

    def _weigh(self, call: Call, turn: Turn, through: str) -> Judgement | Failure:
        before, taken = self._checked.pop(call.id, (None, None))
        if taken is None or before is not call or through:
            taken = take_call(call, self.registry, through)
        if isinstance(taken, Failure):
            return taken
        return self._judge(taken, turn)

    def _judge(self, taken: TakenCall, turn: Turn) -> Judgement:
        call, tool = taken.call, taken.tool
        tainted, person = turn.tainted, self._approving.person
        # Every path that is resolved in this context becomes a pin, also those that the policy
        # looks at.
        pinned, scope = CallFiles(), contextvars.copy_context()
        scope.run(CALL_FILES.set, pinned)
        facts, decision = scope.run(self._decide, taken, tainted, person)
        if facts.traits != tool.traits:
            # Traits may depend on the input (a dry run, a read-only query). Question and approval
            # are about the tool as this call uses it.
            tool = msgspec.structs.replace(tool, traits=facts.traits)
        return Judgement(
            call=call,
            tool=tool,
            values=taken.values,
            facts=facts,
            decision=decision,
            policy=self.policy,
            read=taken.read,
            pinned=pinned,
        )

    def _decide(
        self, taken: TakenCall, tainted: tuple[str, ...], person: bool
    ) -> tuple[Facts, Decision]:
        """Return the facts of a call, and what the policy says of them."""
        tool = taken.tool
        facts = gather(
            tool,
            taken.call.input,
            resolve=self._resolve,
            tainted=tainted,
            person=person,
            through=taken.through,
            reached=self.policy.looks_at_paths,
            denoted=taken.denoted,
        )
        # A call that sends data out also carries the taint of the files that it would send.
        leaves = self._origins is not None and may_leave_by(tool, facts.traits)
        if leaves and (carried := carried_taints(self._origins, tool, facts)):
            tainted = tuple(dict.fromkeys((*facts.tainted, *carried)))
            facts = msgspec.structs.replace(facts, tainted=tainted)
        return facts, self.policy.decide(facts)

    async def refusal(self, weighed: Judgement, turn: Turn) -> Failure | None:
        """Return `None` to let the call through, else the refusal; ask a person where the policy
        says so.
        """
        decision = weighed.decision
        # An allow is not judged again: its paths are pinned, so the tool uses the files that were
        # judged, however long the call waits for a slot.
        if decision.verdict == "allow":
            return None
        if not decision.asked:
            return Failure(code=decision.code, message=_reason(weighed.tool, decision))
        refusal = await self._approving.refusal(weighed, turn)
        return refusal or self._changed(weighed, turn)

    async def confirm(
        self, weighed: Judgement, turn: Turn, about: str, shown: dict[str, Any], why: str, text: str
    ) -> str | None:
        """Ask a person about a call that runs; return `None` for a yes, else why not.

        No rule answers this, and no approval of the call: the question has a name and a
        fingerprint of its own, made of what is shown and why.
        """
        asked = weighed.tool

        def preview(**_: Any) -> str:
            return text

        tool = Tool(
            spec=ToolSpec(f"{asked.name}:{about}", why),
            check=lambda given: Checked(values=given),
            traits=asked.traits,
            origin=asked.origin,
            preview=preview,
        )
        question = msgspec.structs.replace(
            weighed,
            call=msgspec.structs.replace(weighed.call, input=shown),
            tool=tool,
            values=shown,
            facts=msgspec.structs.replace(weighed.facts, input=shown, tainted=turn.tainted),
            decision=Decision(verdict="ask", code="approval_required", reason=why, asked=True),
            read=False,
            pinned=CallFiles(),
        )
        refusal = await self._approving.refusal(question, turn)
        return None if refusal is None else refusal.message

    def _changed(self, weighed: Judgement, turn: Turn) -> Failure | None:
        """Return a failure where a call no longer means what was approved.

        Meanwhile a link may have been turned, a file changed whose diff the person saw, or text of
        others may have entered the turn.
        """
        # Compare facts, not only the decision: an "ask" for another file is still an "ask".
        now = self._weigh(weighed.call, turn, weighed.facts.through)
        if isinstance(now, Failure):
            return now
        is_same = now.facts == weighed.facts and now.shown_files == weighed.shown_files
        if now.decision.asked and is_same:
            return None
        words = f"{weighed.tool.name} did not run: what it means changed after it was approved"
        return Failure(code="approval_mismatch", message=words)


def _reason(tool: Tool, decision: Decision) -> str:
    if decision.code == "policy_off":
        return f"{tool.name} did not run: nothing runs without a policy, and none was given"
    return f"{tool.name} did not run: {decision.reason}"
