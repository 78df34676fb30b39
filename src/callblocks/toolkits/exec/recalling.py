"""Restoring kept files that code names to the folder in which it looks for them.

A file that another tool kept, such as the answer of a server, has a path on the timeline and no
file in the folder of its turn: `fi:turn_1.files/c1/prices.json`. If the code contains that path, or
the one on disk, the file is restored from the artifacts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from callblocks.model.errors import BadPath
from callblocks.model.paths import FilePath, parse_path, parse_physical
from callblocks.timeline.reading.recovering import noted_digest, recovered
from callblocks.timeline.recorder import Recorder

__all__ = ("named_files", "recall")

# A bound on the work that one text can cause.
_MOST = 100
_TURN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
_NAMED = re.compile(
    rf"fi:{_TURN}\.(?:files|user\.attachments)/[^\s\"'`<>|;,()\[\]]+"
    rf"|\b{_TURN}/(?:files|attachments)/[^\s\"'`<>|;,()\[\]]+"
)


def named_files(code: str) -> Iterator[FilePath]:
    """Yield the files of turns that a text names, in either notation."""
    for found in islice(_NAMED.finditer(code), _MOST):
        text = found[0]
        try:
            path = parse_path(text) if text.startswith("fi:") else parse_physical(text)
        except BadPath:
            continue
        if isinstance(path, FilePath):
            yield path


def recall(code: str, recorder: Recorder) -> None:
    """Restore each named file that is missing in its folder and known to the timeline."""
    with recorder.lock:
        for path in named_files(code):
            digest = noted_digest(path, recorder.state)
            if digest and recorder.holdings.read(path) is None:
                recovered(path, digest, recorder.state, recorder.holdings)
