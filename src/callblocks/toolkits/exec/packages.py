"""What can be imported in the sandbox, told where code asked for something else."""

from __future__ import annotations

import msgspec

from callblocks.model.outcomes import Failure
from callblocks.runtime.sandbox.sandbox import Job, Limits, Sandbox
from callblocks.toolkits.exec.program import PACKAGES

__all__ = ("with_packages",)

_LOOK = "import importlib.util as u, sys; print(*(p for p in sys.argv[1:] if u.find_spec(p)))"
_known: dict[str, str] = {}


async def with_packages(failure: Failure, sandbox: Sandbox) -> Failure:
    """The failure, and which of the packages that code may expect are here; looked up once."""
    if sandbox.name not in _known:
        _known[sandbox.name] = await _installed(sandbox)
    there = _known[sandbox.name] or "none but Python's own"
    words = f"{failure.message}; packages that are installed here: {there}"
    return msgspec.structs.replace(failure, message=words)


async def _installed(sandbox: Sandbox) -> str:
    said: list[bytes] = []
    job = Job(argv=("python3", "-c", _LOOK, *PACKAGES), limits=Limits(seconds=10))
    await sandbox.run(job, lambda stream, piece: said.append(piece) if stream == "stdout" else None)
    return ", ".join(b"".join(said).decode("utf-8", "replace").split())
