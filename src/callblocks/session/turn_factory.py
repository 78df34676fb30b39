"""The assembly of a turn: tools, runtime, speaker and messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Answer, Asker, Grant, LetThrough, Question, Settled
from callblocks.core.blocks import Block
from callblocks.core.calls import Call
from callblocks.core.events import CallAnswered, CallAsked, CallGranted, TurnEvent
from callblocks.guard.files.root import Root
from callblocks.guard.workers.threads import Budgets
from callblocks.models.model import Model, NativeNames
from callblocks.parsing.dialect import Dialect
from callblocks.policy.policy import Policy
from callblocks.runtime.gate import Approving, Resolve
from callblocks.runtime.journal import Journal
from callblocks.runtime.judgement import Turn
from callblocks.runtime.runtime import Runtime
from callblocks.session.event_gate import Telling
from callblocks.session.model_choice import Choice, ModelMenu, SessionSettings, is_taught
from callblocks.session.prompt import Talk
from callblocks.session.speaker import Speaker, WrittenForms
from callblocks.session.taint import Taints
from callblocks.session.turn import TurnRun, TurnWriting, write_answer, write_grant
from callblocks.session.turn_lock import turn_key
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.office.times import machine_zone
from callblocks.toolkits.react_tools import in_turn, turn_tools
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Keep
from callblocks.views.model_view.view import ModelView

__all__ = ("RuntimeDeps", "TurnFactory")


class RuntimeDeps(msgspec.Struct, frozen=True, kw_only=True):
    """Dependencies of the runtime beside tools and a policy; see `Runtime` and `Approving`.

    `budgets` are shared by all conversations of a program. `root` is the workspace, whose files
    documents may show. `only` restricts the tools, by names or patterns; it also covers the tools
    of a turn, such as `react.read`. `owner` has the turns, if not this process.
    """

    book: ApprovalBook | None = None
    asker: Asker | None = None
    journal: Journal | None = None
    keep: Keep | None = None
    resolve: Resolve | None = None
    place: str = ""
    root: Root | None = None
    only: tuple[str, ...] = ()
    budgets: Budgets | None = None
    owner: str = ""


class TurnFactory:
    """The factory of the turns of one conversation."""

    def __init__(
        self,
        recorder: Recorder,
        offers: ModelMenu,
        tools: Registry,
        policy: Policy | None,
        settings: SessionSettings,
        desk: RuntimeDeps,
    ) -> None:
        self.recorder = recorder
        self.offers = offers
        self.desk = desk
        self.user = ""
        self._tools = tools
        self._policy = policy
        self._settings = settings
        # Model views by budget and dialect: each view keeps its own cached prefix.
        self._views: dict[tuple[int | None, str], ModelView] = {}
        # The turns that they left out, of those that they were fed.
        self._known: frozenset[str] = frozenset()
        self._hidden: frozenset[str] = frozenset()
        self._taints = Taints()
        self._seen = 0
        # The names of models that were given native tools on this timeline and called one.
        self._callers: set[str] = set()
        # The dialect of each model's first calls on this timeline, by the model's name.
        self._learned: dict[str, str] = {}
        self._written: WrittenForms = {}
        self._approving: Approving | None = None

    def set_up(self, turn: str, before: int, choice: Choice, tell: Telling) -> TurnRun:
        """Return a turn that is ready to run; its prompt must be on the timeline."""
        # What the model sees of earlier turns does not change while this one runs.
        recorder, settings = self.recorder, self._settings
        talk: Talk | None = None
        own = turn_tools(
            recorder, turn, lambda seq: talk is None or talk.shows(seq), self.desk.root
        )
        tools = in_turn(self._tools, own.only(self.desk.only) if self.desk.only else own)
        offered = self.offers.chosen(choice)
        key = turn_key(recorder, turn)
        tainted = self._tainted(tools)
        speaker = Speaker(
            offered,
            choice,
            tools,
            settings,
            zone=machine_zone(),
            has_called=offered.model.name in self._callers,
            learned=self._learned.get(offered.model.name, ""),
            written=self._written,
        )
        views = partial(self._view, offered.model, tools)
        hidden = self._branch(turn)
        talk = Talk(recorder.timeline, views, speaker.spoken, turn, before, hidden)
        runtime = self._runtime(tools, tell, turn, key)
        return TurnRun(
            Turn(key, tainted=tainted, user=self.user),
            talk,
            speaker,
            runtime,
            TurnWriting(recorder, turn, tell, runtime.check, offered.model.name),
            settings,
            tell,
            self.desk.budgets and self.desk.budgets.streams,
        )

    def withdraw(self) -> None:
        """Withdraw the open questions of the last turn: it is over."""
        # Without an asker, questions stay: the answer may come before the next turn.
        if self._approving is not None and self._approving.person:
            self._approving.withdraw()

    def _runtime(
        self, tools: Registry, tell: Callable[[TurnEvent], None], turn: str, key: str
    ) -> Runtime:
        desk = self.desk
        asker = desk.asker and _telling(desk.asker, tell)
        # With an asker an answer holds for this turn; without one it holds for the whole timeline.
        within = self.recorder.timeline.name if asker is None else key
        answered = _answered(self.recorder, turn, tell)
        granted = _granted(self.recorder, turn, tell)
        self._approving = Approving(desk.book, asker, desk.place, answered, within, granted)
        return Runtime(
            tools,
            self._policy,
            approving=self._approving,
            journal=desk.journal,
            keep=desk.keep or self.recorder.holdings.artifacts,
            resolve=desk.resolve,
            budgets=desk.budgets,
            origins=desk.root and desk.root.origins,
        )

    def _view(self, model: Model, tools: Registry, spoken: Dialect | None) -> ModelView:
        """Return the view for a model; models of one budget and one dialect share it."""
        budget = self._settings.budget_of(model)
        form = budget, spoken.name if spoken else ""
        if form not in self._views:
            tokens = self.recorder.holdings.tokens
            # A model that is given tools natively knows them by other names: those act, too.
            known = NativeNames(tools).read_specs
            self._views[form] = ModelView(tokens=tokens, budget=budget, tools=known, spoken=spoken)
        return self._views[form]

    def _branch(self, turn: str) -> frozenset[str]:
        """Return the turns that a turn does not follow; views of another branch are forgotten."""
        with self.recorder.lock:
            state = self.recorder.state
            hidden, known = state.branches.hidden(turn), frozenset(state.turns)
        if hidden & self._known != self._hidden:
            self._views.clear()
        self._known, self._hidden = known, hidden
        return hidden

    def _tainted(self, tools: Registry) -> tuple[str, ...]:
        """Read what is new on the timeline; return where text of others came from."""
        for entry in self.recorder.timeline.entries(after=self._seen):
            self._taints.feed((entry,), tools)
            self._learn(entry.block)
            self._seen = entry.seq
        return self._taints.reasons

    def _learn(self, block: Block) -> None:
        model, dialect = (str(block.meta.get(name, "")) for name in ("model", "dialect"))
        if block.type != "react.tool.call":
            return
        if block.meta.get("mode") in ("native", "mixed"):
            self._callers.add(model)
        if is_taught(dialect):
            self._learned.setdefault(model, dialect)


def _telling(asker: Asker, tell: Callable[[TurnEvent], None]) -> Asker:
    """Return an asker that also emits its questions as events."""

    def ask(question: Question) -> Awaitable[Answer | None]:
        id, approval, shown = question.call.id, question.approval_id, question.shown
        tell(
            CallAsked(
                id=id,
                approval=approval,
                reason=question.reason,
                preview=shown.preview,
                tainted=question.tainted,
                input=shown.input,
                hidden=not shown.is_whole,
            )
        )
        return asker(question)

    return ask


def _answered(recorder: Recorder, turn: str, tell: Callable[[TurnEvent], None]) -> Settled:
    """Return a callback that writes and tells the answer to a question.

    A yes that let another call run is none for this one.
    """

    def settled(question: Question, approved: bool, words: str, grant: Grant | None) -> None:
        id, approval = question.call.id, question.approval_id
        write_answer(recorder, turn, question, approved, words, grant)
        minutes, expires = (grant.minutes, grant.expires) if grant else (0, 0.0)
        tell(
            CallAnswered(
                id=id,
                approval=approval,
                approved=approved,
                reason=words,
                minutes=minutes,
                expires=expires,
            )
        )

    return settled


def _granted(recorder: Recorder, turn: str, tell: Callable[[TurnEvent], None]) -> LetThrough:
    """Return a callback that writes and tells which grant let a call through."""

    def let_through(call: Call, grant: Grant) -> None:
        write_grant(recorder, turn, call, grant)
        tell(
            CallGranted(
                id=call.id, approval=grant.approval, minutes=grant.minutes, expires=grant.expires
            )
        )

    return let_through
