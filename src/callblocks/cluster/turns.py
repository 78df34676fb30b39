"""Turns as they wait, and the interface of the engine that decides which worker runs them.

The table of turns says what is to be done and who does it. An engine only says when and where: it
is given a job, which is the number of a turn and of an attempt, and calls a worker with it, at
least once. So an engine must lose no job, but may deliver one twice: a job is claimed in the table
before anything happens, and a second claim of it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, Self, TypeAlias

import msgspec

from callblocks.core.calls import Call
from callblocks.core.errors import CallerError
from callblocks.session.model_choice import NO_CHOICE, Attachment, Choice
from callblocks.session.traces import parent
from callblocks.timeline.branches import Branch

__all__ = (
    "FORMAT",
    "ClusterLimits",
    "Job",
    "Perform",
    "PostedFile",
    "TurnEngine",
    "TurnRequest",
)

# The format of a request. A worker takes turns of its own format and of older ones, so an older
# worker beside a newer one leaves to it what it would not understand.
FORMAT = 1
# Seconds. A worker signs each half second, so four signs fit: with fewer, none could tell a late
# sign from a lost one.
_LEAST_SILENCE = 2.0


class ClusterLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits that all processes of a cluster share.

    `running` turns of one user run at once, and `waiting` may wait; `rate` starts of one user are
    let through in `period` seconds, 0 for any number. A turn that `deaths` workers died of is
    quarantined. `turns` is how many one worker runs at once. The engine looks for work each `poll`
    seconds. A worker that gave no sign for `silence` seconds is dead. `grace` is how long turns may
    go on once their worker ends. Ended turns are forgotten after `keep` seconds, their events after
    `keep_events`.
    """

    running: int = 4
    waiting: int = 10_000
    rate: int = 0
    period: float = 60.0
    deaths: int = 3
    turns: int = 32
    poll: float = 0.1
    silence: float = 3.0
    grace: float = 20.0
    keep: float = 7 * 24 * 3600.0
    keep_events: float = 60.0

    def check(self) -> None:
        """Raise `CallerError` where no cluster could work like this."""
        for name in ("running", "waiting", "period", "deaths", "turns", "poll"):
            if not getattr(self, name) > 0:
                raise CallerError(f"the limit {name} of a cluster must be above 0")
        for name in ("rate", "grace", "keep", "keep_events"):
            if not getattr(self, name) >= 0:
                raise CallerError(f"the limit {name} of a cluster must not be below 0")
        if not self.silence >= _LEAST_SILENCE:
            raise CallerError(f"the limit silence of a cluster must be at least {_LEAST_SILENCE:g}")


class PostedFile(msgspec.Struct, frozen=True):
    """A file that came with a prompt."""

    name: str
    content: bytes


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A prompt to answer, or an interrupted turn to go on with.

    `trace` names the span of the request that it came with.
    """

    prompt: str = ""
    files: tuple[PostedFile, ...] = ()
    choice: Choice = NO_CHOICE
    branch: Branch | None = None
    calls: tuple[Call, ...] = ()
    is_resumed: bool = False
    trace: str = ""

    @classmethod
    def of(
        cls,
        prompt: str,
        files: Sequence[Attachment],
        choice: Choice = NO_CHOICE,
        branch: Branch | None = None,
        calls: Sequence[Call] = (),
    ) -> Self:
        """Return the request for a prompt."""
        posted = tuple(PostedFile(file.name, file.content) for file in files)
        return cls(
            prompt=prompt,
            files=posted,
            choice=choice,
            branch=branch,
            calls=tuple(calls),
            trace=parent(),
        )

    @property
    def attachments(self) -> list[Attachment]:
        """Return the files as a session takes them."""
        return [Attachment(file.name, file.content) for file in self.files]


class Job(NamedTuple):
    """One attempt to run a turn; `delay` is the seconds until it is due."""

    turn: int
    attempt: int
    user: str = ""
    format: int = FORMAT
    delay: float = 0.0

    @property
    def id(self) -> str:
        """Return the name by which the engine knows the job."""
        return f"turn-{self.turn}.{self.attempt}"

    @classmethod
    def read(cls, id: str) -> Job | None:
        """Return the job of a name; `None` for the name of something else."""
        turn, _, attempt = id.removeprefix("turn-").partition(".")
        if not (id.startswith("turn-") and turn.isdecimal() and attempt.isdecimal()):
            return None
        return cls(int(turn), int(attempt))


Perform: TypeAlias = Callable[[Job], None]


class TurnEngine(Protocol):
    """An engine that runs each job at least once. All methods may be called from any thread."""

    def enqueue(self, job: Job) -> None:
        """Take a job; one that it has already is left as it is."""
        ...

    def withdraw(self, jobs: Sequence[Job]) -> None:
        """Forget jobs, whether they wait or run; unknown ones are passed over."""
        ...

    def taken_by(self, worker: str) -> list[Job]:
        """Return the jobs that a worker has taken and not ended."""
        ...

    def taken(self) -> list[tuple[Job, str]]:
        """Return all jobs that were taken and not ended, each with its worker."""
        ...

    def over(self, jobs: Sequence[Job]) -> list[Job]:
        """Return those of some jobs that ended, or are not known."""
        ...

    def forget_old(self, seconds: float) -> None:
        """Delete what is left of jobs that ended more than some seconds ago."""
        ...

    def work(self, worker: str, perform: Perform) -> None:
        """Begin to take jobs as that worker; `perform` runs each in a thread, to its end."""
        ...

    def rest(self) -> None:
        """Take no more jobs; those that were taken go on."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...
