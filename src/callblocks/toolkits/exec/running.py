"""One run of code: set up the sandbox, watch the run, copy promised files out, report.

Order and why: the taint for network access is set before the run, because its output is shown while
it runs; the taint for foreign files after it, because a failed start has read nothing. Promised
files are copied out before the failure is determined: a failed run may still have produced some.
"""

from __future__ import annotations

import asyncio
import math
import posixpath
from typing import Any

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.sandbox.sandbox import MIB, Changes, Ended, Job, Limits, Sandbox
from callblocks.toolkits.exec.bringing import bring
from callblocks.toolkits.exec.contract import Promised
from callblocks.toolkits.exec.endings import failure_of
from callblocks.toolkits.exec.packages import with_packages
from callblocks.toolkits.exec.places import Ground, Place
from callblocks.toolkits.exec.printed import Printed
from callblocks.toolkits.exec.program import Language, command, environment, file_name
from callblocks.tools.context import Context
from callblocks.tools.envelope import envelope

__all__ = ("Run",)

# Seconds after which the sandbox stops what did not stop by itself.
_AFTER = 5.0

# Bytes of output that are read; the rest is only counted.
_HEARD = 64 * MIB


class Run:
    """One run; `limits.seconds` is the time limit of the code itself."""

    def __init__(
        self,
        language: Language,
        place: Place,
        context: Context,
        limits: Limits,
        printed: Printed,
        *,
        network: bool,
    ) -> None:
        self._language = language
        self._place = place
        self._context = context
        self._limits = limits
        self._printed = printed
        self._network = network

    async def run(
        self, sandbox: Sandbox, code: str, prog_name: str, contract: tuple[Promised, ...]
    ) -> dict[str, Any]:
        """Run the code, copy its promised files out, and return the result."""
        # The walk over the folders of all turns blocks, so it runs in a thread.
        ground = await asyncio.to_thread(self._place.ground, code)
        name = file_name(prog_name, self._language)
        if self._network:
            self._context.taint("code that could reach the network")
        try:
            job = self._job(ground, code, name, contract)
            ended = await sandbox.run(job, self._printed.take)
        finally:
            self._printed.close()
        if ground.foreign:
            self._context.taint("code that could read files of others")
        changes = ended.changes if ended.copied else Changes()
        brought = await asyncio.to_thread(bring, changes, contract, self._place, self._context)
        said = self._printed.last_error
        failure = failure_of(ended, said, self._limits, self._limits.seconds)
        if failure is not None and "ModuleNotFoundError" in said:
            failure = await with_packages(failure, sandbox)
        if failure is not None and brought.produced and not ground.turns:
            # In a turn the produced files are listed in a report of their own; here the failure's
            # message is all that the model sees.
            words = f"{failure.message}; made all the same: {', '.join(brought.produced)}"
            failure = msgspec.structs.replace(failure, message=words)
        told = {**self._told(ended, name), "produced": list(brought.produced)}
        return envelope(
            told | ({"problems": brought.problems} if brought.problems else {}), failure
        )

    def _job(self, ground: Ground, code: str, name: str, contract: tuple[Promised, ...]) -> Job:
        seconds = self._limits.seconds
        # Create the parent folders of promised files, so code that promises charts/a.png can write
        # it directly.
        above = {posixpath.dirname(one.inside) for one in contract}
        folders = sorted(posixpath.relpath(folder, ground.cwd or ".") for folder in above)
        return Job(
            argv=command(self._language, name, seconds, folders, turns=ground.turns),
            folder=ground.folder,
            cwd=ground.cwd,
            without=ground.without,
            read_only=ground.read_only,
            watched=tuple(one.inside for one in contract),
            stdin=_bytes(code),
            env=environment(),
            network=self._network,
            # The outer limits leave the inner `timeout` the first word. CPU time is doubled for two
            # threads.
            limits=msgspec.structs.replace(
                self._limits,
                seconds=seconds + _AFTER,
                cpu_seconds=math.ceil(2 * seconds + _AFTER),
                output=_HEARD,
            ),
        )

    def _told(self, ended: Ended, name: str) -> dict[str, Any]:
        told: dict[str, Any] = {"program": name, "exit_code": ended.exit_code}
        told |= {"seconds": round(ended.seconds, 2), **self._printed.texts()}
        return told | ({"printed_bytes": ended.output_bytes} if ended.output_bytes else {})


def _bytes(code: str) -> bytes:
    try:
        return code.encode()
    except UnicodeEncodeError:
        raise ToolError("invalid_input", "the code is not Unicode text") from None
