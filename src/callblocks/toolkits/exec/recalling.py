"""Files that code names and that were kept, put back where code finds them.

What another tool kept, such as the answer of a server, has a path on the timeline and no file in
the folder of its turn: `fi:turn_1.files/c1/prices.json`. Code that says that path, or the one on
disk, gets the file.
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

_MOST = 100
_TURN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
_NAMED = re.compile(
    rf"fi:{_TURN}\.(?:files|user\.attachments)/[^\s\"'`<>|;,()\[\]]+"
    rf"|\b{_TURN}/(?:files|attachments)/[^\s\"'`<>|;,()\[\]]+"
)


def named_files(code: str) -> Iterator[FilePath]:
    """The files of turns that a text names, in either way of writing."""
    for found in islice(_NAMED.finditer(code), _MOST):
        text = found[0]
        try:
            path = parse_path(text) if text.startswith("fi:") else parse_physical(text)
        except BadPath:
            continue
        if isinstance(path, FilePath):
            yield path


def recall(code: str, recorder: Recorder) -> None:
    """Put back each named file that is not in its folder and that the timeline has."""
    with recorder.lock:
        for path in named_files(code):
            digest = noted_digest(path, recorder.state)
            if digest and recorder.holdings.read(path) is None:
                recovered(path, digest, recorder.state, recorder.holdings)
