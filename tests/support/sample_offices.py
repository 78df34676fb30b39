"""The sample office, copied for each test that changes it."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

from callblocks.toolkits.office.sample_office import lay_office

__all__ = ("copy_office",)


@cache
def _laid() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    # It goes with the process: who holds the folder is held with it.
    folder = tempfile.TemporaryDirectory(prefix="callblocks-sample-")
    office = Path(folder.name) / "office"
    lay_office(office)
    return folder, office


def copy_office(workspace: Path) -> Path:
    """Put a fresh copy of the sample into a workspace; the folder of the office."""
    return Path(shutil.copytree(_laid()[1], workspace / "office"))
