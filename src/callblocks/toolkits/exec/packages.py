"""The packages that are installed in the sandbox, named after a failed import."""

from __future__ import annotations

import msgspec

from callblocks.model.outcomes import Failure
from callblocks.runtime.sandbox.sandbox import Job, Limits, Sandbox
from callblocks.toolkits.exec.program import PACKAGES

__all__ = ("with_packages",)

_LOOK = "import importlib.util as u, sys; print(*(p for p in sys.argv[1:] if u.find_spec(p)))"
_known: dict[str, str] = {}


async def with_packages(failure: Failure, sandbox: Sandbox) -> Failure:
    """Return the failure with a list of the installed packages, which is determined once per
    sandbox.
    """
    if sandbox.name not in _known:
        _known[sandbox.name] = await _installed(sandbox)
    there = _known[sandbox.name] or "none but Python's own"
    words = f"{failure.message}; packages that are installed here: {there}"
    return msgspec.structs.replace(failure, message=words)


async def _installed(sandbox: Sandbox) -> str:
    said: list[bytes] = []
    # The list is determined inside of the sandbox: its Python is not the one that runs this code.
    job = Job(argv=("python3", "-c", _LOOK, *PACKAGES), limits=Limits(seconds=10))
    await sandbox.run(job, lambda stream, piece: said.append(piece) if stream == "stdout" else None)
    return ", ".join(b"".join(said).decode("utf-8", "replace").split())
