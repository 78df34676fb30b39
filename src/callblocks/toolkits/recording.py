"""A recorder and all that it needs, below one folder.

    with open_recorder("state", "trip") as recorder:
        turn = recorder.new_turn()
        recorder.prompt(turn, "Plan our crossing.")

The store, the files of turns and the artifacts are where `callblocks run --timeline` has them in
its state folder (see `callblocks.timeline.layout`), so the commands of `callblocks timeline` find
what a program wrote there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from callblocks.timeline.emitting.shapes import Shape
from callblocks.timeline.keeping.artifacts import Artifacts
from callblocks.timeline.layout import ARTIFACTS, TIMELINES, turns_folder
from callblocks.timeline.reading.skills import Skills
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.rounds import CacheSettings
from callblocks.timeline.timeline import Timeline
from callblocks.timeline.tokens import Tokens
from callblocks.toolkits.turn_files import FolderFiles

__all__ = ("open_recorder",)


@contextmanager
def open_recorder(
    folder: str | os.PathLike[str],
    name: str,
    *,
    store: str | os.PathLike[str] | None = None,
    tokens: Tokens | None = None,
    shapes: Mapping[str, Shape] | None = None,
    skills: Skills | None = None,
    cache: CacheSettings | None = None,
    clock: Callable[[], float] = time.time,
) -> Generator[Recorder]:
    """Open the recorder of a timeline; create its folders and its store if they are missing.

    `store` is a path or a URL for a store outside of the folder. The other parameters are those of
    `Recorder`.
    """
    top = Path(folder)
    with (
        Timeline.open(top / TIMELINES if store is None else store, name) as timeline,
        FolderFiles(turns_folder(top, name, store)) as files,
    ):
        yield Recorder(
            timeline,
            files,
            Artifacts(top / ARTIFACTS),
            tokens=tokens,
            shapes=shapes,
            skills=skills,
            cache=cache,
            clock=clock,
        )
