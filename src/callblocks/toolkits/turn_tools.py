"""The tools that work in one turn of a timeline, and their merge with the other tools.

    tools = in_turn(tools, turn_tools(recorder, turn))

`react.*` are there in every turn. The exec and rendering tools exist twice: without a timeline they
write into the workspace, in a turn they write files of that turn. `in_turn` replaces the former by
the latter, and only if the former is present: a caller that left a tool out does not get it back.
"""

from __future__ import annotations

from callblocks.guard.files.root import Root
from callblocks.timeline.recall.lookup import Shows
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.react_tools import react_tools
from callblocks.toolkits.standard import EXEC_TOOLS, RENDERING_TOOLS
from callblocks.toolkits.turn_files import FolderFiles
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

__all__ = (
    "in_turn",
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
