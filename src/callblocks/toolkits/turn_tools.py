"""The tools that work in one turn of a timeline, and their merge with the other tools.

    tools = in_turn(tools, turn_tools(recorder, turn))

`react.*` are there in every turn. The exec and rendering tools exist twice: without a timeline they
write into the workspace, in a turn they write files of that turn. `in_turn` replaces the former by
the latter, and only if the former is present: a caller that left a tool out does not get it back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from callblocks.guard.files.root import Root
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.codec.call_blocks import Shape
from callblocks.timeline.recall.lookup import Shows
from callblocks.timeline.recall.skills import Skills
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import ARTIFACTS, TIMELINES, Timeline, Tokens, turns_folder
from callblocks.timeline.timeline_state import CacheSettings
from callblocks.toolkits.react_tools import react_tools
from callblocks.toolkits.standard import EXEC_TOOLS, RENDERING_TOOLS
from callblocks.toolkits.turn_files import FolderFiles
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

__all__ = (
    "in_turn",
    "open_recorder",
    "turn_tools",
)

_IN_A_TURN = frozenset((*EXEC_TOOLS, *RENDERING_TOOLS))


def turn_tools(
    recorder: Recorder, turn: str, shows: Shows | None = None, root: Root | None = None
) -> Registry:
    """Return the tools of a turn; the exec tools only if the turn's files are on a disk.

    With the workspace `root`, documents may embed files of it. `shows` is as for `react_tools`.
    """
    registry = Registry(react_tools(recorder, turn, shows))
    registry.add_later(RENDERING_TOOLS, lambda: _rendering_tools(recorder, turn, root, shows))
    files = recorder.holdings.files
    if isinstance(files, FolderFiles):
        registry.add_later(EXEC_TOOLS, lambda: _exec_tools(recorder, files, turn))
    return registry


def in_turn(known: Registry, own: Registry) -> Registry:
    """Return `known` with its own tools rebound to a turn; a caller's tool of the same name
    stays.
    """
    ours = [name for name in own.names if name in _IN_A_TURN and _is_ours(known, name)]
    added = [name for name in own.names if name not in _IN_A_TURN and name not in known]
    return known.without(ours) | own.choose((*ours, *added))


def _is_ours(known: Registry, name: str) -> bool:
    tool = known.get(name)
    # The module tells our tool from a caller's tool with the same name, which must not be replaced.
    module = getattr(tool and tool.function, "__module__", "")
    return module.startswith("callblocks.toolkits.")


def _exec_tools(recorder: Recorder, files: FolderFiles, turn: str) -> tuple[Tool, ...]:
    from callblocks.toolkits.exec.exec_tools import exec_tools
    from callblocks.toolkits.exec.workdir import TurnPlace

    return exec_tools(TurnPlace(recorder, files, turn))


def _rendering_tools(
    recorder: Recorder, turn: str, root: Root | None, shows: Shows | None
) -> tuple[Tool, ...]:
    from callblocks.toolkits.documents.document_tools import rendering_tools
    from callblocks.toolkits.documents.write_document import TurnPlace

    return rendering_tools(TurnPlace(recorder, turn, root, shows))


# --- A recorder and all that it needs, below one folder ---
#
#     with open_recorder("state", "trip") as recorder:
#         turn = recorder.new_turn()
#         recorder.prompt(turn, "Plan our crossing.")
#
# The store, the files of turns and the artifacts are where `callblocks run --timeline` has them in
# its state folder (see `timeline.timeline`), so the commands of `callblocks timeline` find what a
# program wrote there.


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
