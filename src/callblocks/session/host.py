"""Resources that the conversations of one program share, below one state folder.

    host = Host(HostSettings(state=folder, workspace=here, model=model, policy=policy))
    session = host.session("trip")

The store, the files of turns, the artifacts, the approvals and the journal have the same paths as
in the commands of `callblocks`. A host is made and used in the thread of one event loop.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias

import msgspec

from callblocks.approvals.approval import ApprovalsUnavailable
from callblocks.approvals.book import ApprovalBook
from callblocks.approvals.question import Asker
from callblocks.core.errors import CallerError, TimelineError
from callblocks.guard.files.root import Root
from callblocks.guard.workers.threads import Budgets
from callblocks.models.model import Model
from callblocks.policy.policy import Policy
from callblocks.protocols.mcp.server_link import McpServers
from callblocks.runtime.journal import Journal, JournalUnavailable
from callblocks.session.model_choice import ModelMenu, Offered, SessionSettings
from callblocks.session.session import Session
from callblocks.session.team import seat_team
from callblocks.session.team_file import TeamSettings
from callblocks.session.turn_factory import RuntimeDeps
from callblocks.timeline.artifacts.artifacts import ArtifactStore
from callblocks.timeline.artifacts.bucket_artifacts import open_artifacts
from callblocks.timeline.log.log import Store
from callblocks.timeline.log.open_store import open_store, server_address
from callblocks.timeline.recall.skills import Skills
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import (
    APPROVALS,
    ARTIFACTS,
    JOURNAL,
    PAGES,
    TIMELINES,
    Claim,
    Timeline,
    turns_folder,
)
from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.open_office import OFFICE_TOOLS, has_office
from callblocks.toolkits.standard import standard_tools
from callblocks.toolkits.turn_files import FolderFiles
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

__all__ = ("Host", "HostParts", "HostSettings", "OpenParts", "open_parts")

_MEMBER_TURN = re.compile(r"team_turn_[0-9]+")
_DAY = 24 * 3600.0
# Idle sessions that are kept open.
_KEPT = 500


class HostSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a host. `own` are files that configure the program; no call may write them.

    `tools` take precedence over those that come with callblocks, under the same name. `only`
    restricts the tools, by names or patterns such as `gmail_*`; without it all tools are known,
    except those of an office that does not exist: teaching them would waste context. `office` is
    the office to work on; by default the folder `office/` in the workspace. With a `team`, each
    session is one of that team, and `model` and `dialect` are the team's. `others` are further
    models that a turn may choose, and `label` is the name by which turns choose `model`, if that is
    not the model's own name. `budgets` limit the concurrent processes and model streams of all
    sessions and of one user. Finished approvals and journal entries are deleted after
    `retention_days`; `None` keeps them. A turn that was interrupted longer ago than that should not
    be resumed. `artifacts` is a folder or `s3://bucket/prefix`. The tools of `mcp` are known beside
    all others; whoever made it closes it.
    """

    state: Path
    workspace: Path
    model: Model
    policy: Policy = Policy()
    dialect: str = ""
    label: str = ""
    others: tuple[Offered, ...] = ()
    store: str | None = None
    artifacts: str | None = None
    tools: Registry | None = None
    only: tuple[str, ...] = ()
    office: Office | None = None
    skills: Skills | None = None
    session: SessionSettings = SessionSettings()
    own: tuple[str, ...] = ()
    team: TeamSettings | None = None
    budgets: Budgets | None = None
    retention_days: float | None = 90.0
    mcp: McpServers | None = None


class HostParts(NamedTuple):
    """What the sessions of a host share and keep. `turns` gives the folder of a timeline's files.

    `folders` are those that turns write to.
    """

    store: Store
    artifacts: ArtifactStore
    book: ApprovalBook
    journal: Journal
    turns: Callable[[str], Path]
    folders: Sequence[Path]


OpenParts: TypeAlias = Callable[[HostSettings, ExitStack], HostParts]


def open_parts(settings: HostSettings, stack: ExitStack) -> HostParts:
    """Open what is shared below the state folder of one machine; the stack closes it."""
    state, store = settings.state, settings.store
    folders = [state]
    if store is not None and server_address(store) is None:
        folders.append(Path(store).absolute().parent)
    opened = stack.enter_context(open_store(store or state / TIMELINES))
    book = stack.enter_context(ApprovalBook(state / APPROVALS))
    journal = Journal(state / JOURNAL)
    stack.callback(journal.close)

    def turns(name: str) -> Path:
        return turns_folder(state, name, store)

    return HostParts(
        store=opened,
        artifacts=open_artifacts(settings.artifacts or state / ARTIFACTS),
        book=book,
        journal=journal,
        turns=turns,
        folders=folders,
    )


class Host:
    """A factory of sessions that owns what they share; `close` releases it.

    `parts` opens what they share, if that is not below the state folder.
    """

    def __init__(self, settings: HostSettings, parts: OpenParts = open_parts) -> None:
        self.settings = settings
        self._sessions: dict[str, tuple[Session, ExitStack]] = {}
        self.budgets = settings.budgets or Budgets.of()
        # If a later step fails, the stack closes what was opened; `pop_all` disarms it on success.
        with ExitStack() as stack:
            state = settings.state
            state.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._parts = kept = parts(settings, stack)
            self.store, self.artifacts = kept.store, kept.artifacts
            if settings.artifacts is not None:
                # A wrong bucket is a fault of the start, not of the first turn that makes a file.
                self.artifacts.probe()
            self.book, self.journal = kept.book, kept.journal
            self.root = stack.enter_context(
                Root(settings.workspace, own=settings.own, hidden=[state])
            )
            self.registry = _known_tools(settings, self.root)
            if settings.team is not None:
                settings.team.check(self.registry)
            if settings.others:
                ModelMenu(self.offered)
            stack.callback(self._close_sessions)
            self._stack = stack.pop_all()
        self._forgotten = -_DAY
        self._forget_old()

    def session(self, name: str, asker: Asker | None = None) -> Session:
        """Return the session of that name; the same object as long as it is kept."""
        # Take out and put back: the dict's order is the order of last use, which `_make_room`
        # needs.
        if found := self._sessions.pop(name, None):
            self._sessions[name] = found
            return found[0]
        if self.is_member(name):
            raise CallerError(f"{name} is what a member of a team does; choose another name")
        self._make_room()
        self._forget_old()
        session, files = self._open(name, asker, Claim(), self.journal)
        self._sessions[name] = (session, files)
        return session

    @contextmanager
    def claimed_session(
        self, name: str, asker: Asker, claim: Claim, journal: Journal
    ) -> Generator[Session]:
        """Yield a new session for one turn of a cluster, which belongs to the claim's owner."""
        session, files = self._open(name, asker, claim, journal)
        with files:
            yield session

    def is_member(self, name: str) -> bool:
        """Return whether a timeline belongs to a member of this team or of any earlier one."""
        team = self.settings.team
        if team is not None and team.is_member(name):
            return True
        # A member's timeline is `<chat>.<member>`, and its turns are called by those of its team.
        return "." in name and bool(_MEMBER_TURN.fullmatch(self._first_turn(name)))

    @property
    def offered(self) -> Sequence[Offered]:
        """Return the models that a turn may choose, the default first."""
        settings = self.settings
        first = Offered(settings.model, settings.dialect, settings.label)
        return (first, *settings.others)

    @property
    def folders(self) -> Sequence[Path]:
        """Return the folders that turns write to."""
        return self._parts.folders

    @property
    def running(self) -> Sequence[Session]:
        """Return the sessions in which a turn runs."""
        return [session for session, _ in self._sessions.values() if session.is_running]

    def renew_tools(self, mcp: Iterable[Tool] | None = None) -> None:
        """Look again which tools there are; sessions that are idle know them from their next turn.

        A session that runs keeps its tools until it is opened anew. `mcp` are those of the MCP
        servers, where somebody asked for them already.
        """
        self.registry = _known_tools(self.settings, self.root, mcp)
        idle = [name for name, (session, _) in self._sessions.items() if _is_idle(session)]
        for name in idle:
            self._sessions.pop(name)[1].close()

    def close(self) -> None:
        """Close the store, the books and the workspace; no turn may run any more."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(
        self, name: str, asker: Asker | None, claim: Claim, journal: Journal
    ) -> tuple[Session, ExitStack]:
        with ExitStack() as files:
            desk = self._desk(asker, claim.owner, journal)
            session = self._begin(name, desk, lambda name: self._record(name, files, claim.fence))
            return session, files.pop_all()

    def _begin(self, name: str, desk: RuntimeDeps, record: Callable[[str], Recorder]) -> Session:
        settings = self.settings
        if settings.team is not None:
            return seat_team(
                settings.team,
                name,
                record,
                registry=self.registry,
                policy=settings.policy,
                settings=settings.session,
                desk=desk,
            )
        session = Session(
            record(name),
            settings.model,
            tools=self.registry,
            policy=settings.policy,
            dialect=settings.dialect,
            settings=settings.session,
            desk=desk,
        )
        session.offer(*settings.others, label=settings.label)
        return session

    def _record(self, name: str, stack: ExitStack, fence: int) -> Recorder:
        settings = self.settings
        timeline = Timeline(self.store, name, fence)
        files = FolderFiles(self._parts.turns(name))
        stack.callback(files.close)
        return Recorder(timeline, files, self.artifacts, skills=settings.skills)

    def _first_turn(self, name: str) -> str:
        try:
            first = next(iter(self.store.entries(name, limit=1)), None)
        except TimelineError as error:
            if error.code != "store_damaged":
                raise
            first = None
        return "" if first is None else first.block.turn_id

    def _desk(self, asker: Asker | None, owner: str, journal: Journal) -> RuntimeDeps:
        return RuntimeDeps(
            book=self.book,
            asker=asker,
            journal=journal,
            keep=self.artifacts,
            resolve=self.root.resolve,
            place=os.fspath(self.root.folder),
            root=self.root,
            only=self.settings.only,
            budgets=self.budgets,
            owner=owner,
        )

    def _make_room(self) -> None:
        """Close the sessions that were used least recently, if there are many."""
        if len(self._sessions) < _KEPT:
            return
        idle = [name for name, (session, _) in self._sessions.items() if _is_idle(session)]
        for name in idle[: len(self._sessions) - _KEPT + 1]:
            self._sessions.pop(name)[1].close()

    def _forget_old(self) -> None:
        """Delete approvals and journal entries that are older than they are kept, once a day."""
        days, now = self.settings.retention_days, time.monotonic()
        if days is None or now - self._forgotten < _DAY:
            return
        self._forgotten = now
        # A locked database is no reason to fail: tomorrow's run deletes the rest.
        with suppress(ApprovalsUnavailable, JournalUnavailable):
            self.book.forget_old(days * _DAY)
            self.journal.forget_old(days * _DAY)

    def _close_sessions(self) -> None:
        for _, files in self._sessions.values():
            files.close()
        self._sessions.clear()


def _is_idle(session: Session) -> bool:
    return not session.is_running and not session.is_held


def _known_tools(settings: HostSettings, root: Root, mcp: Iterable[Tool] | None = None) -> Registry:
    given = settings.tools or Registry()
    if settings.mcp is not None:
        offered = settings.mcp.tools() if mcp is None else mcp
        given |= Registry(offered).without(given.names)
    pages = settings.state / PAGES
    standard = standard_tools(root, office=settings.office, pages=pages).without(given.names)
    if settings.only:
        return (given | standard).only(settings.only)
    # A team names its tools itself.
    if settings.team is None and settings.office is None and not has_office(root):
        standard = standard.without(OFFICE_TOOLS)
    return given | standard
