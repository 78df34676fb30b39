"""The context of a running tool: what it may report and ask, beside returning its output.

A function requests it by a parameter annotated `Context`, which the model never sees:

    @tool
    async def count(path: str, context: Context) -> int:
        "Count the lines of a file."
        context.report("reading …")
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from callblocks.core.outcomes import Artifact, Notice

__all__ = ("Context", "Keep", "running_as", "running_context")

# A function that stores a file: its name, its content, its MIME type ("" to guess).
Keep = Callable[[str, bytes, str], Artifact]


class Context:
    """One run of one call, as its tool sees it.

    `key` is the idempotency key that was recorded before the run: a service that accepts one will
    not do the same thing twice. `cancelled` is true once nobody waits any more.
    """

    def __init__(
        self,
        call_id: str = "",
        key: str = "",
        *,
        report: Callable[[str], None] | None = None,
        keep: Keep | None = None,
        judge: Callable[[str], str | None] | None = None,
        judge_path: Callable[[str], str | None] | None = None,
        tainted: Callable[[], tuple[str, ...]] | None = None,
    ) -> None:
        self.call_id = call_id
        self.key = key
        self.cancelled = False
        self.artifacts: list[Artifact] = []
        self.notices: list[Notice] = []
        # Read by the runtime after the run, and by stores during it: what a call stores is marked
        # by what it has read so far.
        self.taints: list[str] = []
        self._report = report
        self._keep = keep
        self._judge = judge
        self._judge_path = judge_path
        self._tainted = tainted

    def report(self, text: str) -> None:
        """Show text while the tool still runs; it is not part of the output."""
        if self._report is not None:
            self._report(text)

    def keep(self, name: str, content: bytes | str, mime: str = "") -> Artifact:
        """Store a file with the outcome; text is stored as UTF-8."""
        if self._keep is None:
            raise RuntimeError("nothing here keeps artifacts")
        whole = content.encode() if isinstance(content, str) else content
        artifact = self._keep(name, whole, mime)
        self.artifacts.append(artifact)
        return artifact

    def notice(self, code: str, message: str, **details: object) -> None:
        """Tell the model something beside the output."""
        self.notices.append(Notice(code=code, message=message, details=details))

    def taint(self, why: str) -> None:
        """Declare that the output holds text of others: this turn then asks before it acts."""
        self.taints.append(why)

    def origins(self) -> tuple[str, ...]:
        """Return why the data that this call stores counts as text of others; empty where it does
        not.

        These are the reasons of the turn, and those of the call itself so far.
        """
        return tuple(self.taints) if self._tainted is None else self._tainted()

    def refusal(self, url: str) -> str | None:
        """Return why this call may not continue to another URL than the one it was let through
        with.

        `None` where the policy allows it outright: nobody is asked in the middle of a call.
        """
        return None if self._judge is None else self._judge(url)

    def path_refusal(self, path: str) -> str | None:
        """Return why this call may not read a file beside the paths it was let through with.

        `None` where it may. `path` is the real one, relative to the workspace.
        """
        return None if self._judge_path is None else self._judge_path(path)


_RUNNING: ContextVar[Context | None] = ContextVar("callblocks-running-call", default=None)


def running_context() -> Context | None:
    """Return the context of the current call; `None` outside of every call.

    Stores use it to track origins, so that a tool need not declare its reads and writes.
    """
    return _RUNNING.get()


@contextmanager
def running_as(context: Context | None) -> Generator[None]:
    """Run what starts inside this block as a part of a call; `None` for work that no call shows."""
    token = _RUNNING.set(context)
    try:
        yield
    finally:
        _RUNNING.reset(token)
