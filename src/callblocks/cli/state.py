"""Where approvals, the journal, timelines and kept files are: outside of every workspace.

    $CALLBLOCKS_HOME, or $XDG_STATE_HOME/callblocks, or ~/.local/state/callblocks

Only the person whose they are may read them.
"""

from __future__ import annotations

import os
from pathlib import Path

from callblocks.cli.exits import Fault
from callblocks.timeline.layout import APPROVALS, ARTIFACTS, JOURNAL, PAGES, TIMELINES

__all__ = ("APPROVALS", "ARTIFACTS", "GOOGLE", "JOURNAL", "PAGES", "TIMELINES", "state_folder")

GOOGLE = "google.json"
"""What lets callblocks in at Google."""


def state_folder() -> Path:
    """The folder, made if it is not there."""
    folder = _named()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        way_out = "set CALLBLOCKS_HOME to a folder that can be written"
        raise Fault(f"{folder}: {error.strerror}; {way_out}") from error
    return folder


def _named() -> Path:
    if home := os.environ.get("CALLBLOCKS_HOME"):
        return Path(home).absolute()
    if state := os.environ.get("XDG_STATE_HOME"):
        return Path(state).absolute() / "callblocks"
    return Path.home() / ".local/state/callblocks"
