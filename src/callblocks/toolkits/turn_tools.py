"""The tools of one turn of a timeline: they write its files and know its sources."""

from __future__ import annotations

from callblocks.runtime.files.root import Root
from callblocks.timeline.reading.finding import Shows
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.react import react_tools
from callblocks.toolkits.rendering.places import TurnPlace
from callblocks.toolkits.rendering.tools import rendering_tools
from callblocks.tools.tool import Tool

__all__ = ("turn_tools",)


def turn_tools(
    recorder: Recorder, turn: str, shows: Shows | None = None, root: Root | None = None
) -> tuple[Tool, ...]:
    """Every tool that works on one turn; `shows` is as for `react_tools`.

    With the workspace `root`, documents may show files of it.
    """
    return (
        *react_tools(recorder, turn, shows),
        *rendering_tools(TurnPlace(recorder, turn, root)),
    )
