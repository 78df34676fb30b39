"""Plug-ins: dialects and toolkits that other distributions ship, found by entry points.

    [project.entry-points."callblocks.dialects"]
    guillemet = "guillemet_dialect:Guillemet"

    [project.entry-points."callblocks.toolkits"]
    tides = "tide_tools:TOOLS"

A plug-in that raises when it is imported, or that takes a name that exists, is left out with one
`PluginWarning`; everything else works. Each group is loaded once in a process.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache

from callblocks.core.errors import CallerError

__all__ = (
    "DIALECTS",
    "TOOLKITS",
    "PluginWarning",
    "load_plugins",
    "register_dialects",
    "warn_left_out",
)

DIALECTS = "callblocks.dialects"
TOOLKITS = "callblocks.toolkits"


class PluginWarning(UserWarning):
    """A plug-in was left out; the message names it and says why."""


@cache
def load_plugins(group: str) -> tuple[tuple[str, object], ...]:
    """Import the plug-ins of a group, in the order of their names: each name and its object."""
    if not _is_mentioned(group.encode()):
        return ()
    from importlib.metadata import entry_points

    loaded: dict[str, object] = {}
    for entry in sorted(entry_points(group=group), key=lambda one: (one.name, one.value)):
        try:
            found = entry.load()
        except (Exception, SystemExit) as error:  # a plug-in's own code may raise anything
            warn_left_out(group, entry.name, f"{type(error).__name__}: {error}")
            continue
        if entry.name in loaded:
            warn_left_out(group, entry.name, "another plug-in has that name")
            continue
        loaded[entry.name] = found
    return tuple(loaded.items())


def register_dialects() -> None:
    """Register the dialects of all plug-ins: each is a `Dialect`, or a class of one."""
    from callblocks.dialects import register_dialect

    for name, plugin in load_plugins(DIALECTS):
        try:
            register_dialect(plugin() if isinstance(plugin, type) else plugin)  # pyright: ignore[reportArgumentType] it is checked there
        except Exception as error:  # a plug-in's own code may raise anything
            words = str(error) if isinstance(error, CallerError) else repr(error)
            warn_left_out(DIALECTS, name, words)


def warn_left_out(group: str, name: str, why: str) -> None:
    """Warn, in one line, that a plug-in is not used."""
    line = " ".join(f"the plug-in {name} ({group}) is left out: {why}".split())
    # Without a file of ours, Python shows the warning alone and no line of source below it.
    warnings.warn_explicit(line[:400], PluginWarning, "callblocks", 1, registry={})


def _is_mentioned(group: bytes) -> bool:
    """Return whether any installed distribution mentions a group.

    Most installations have no plug-in. Reading the small files that could name one costs a tenth
    of importing `importlib.metadata`, and every command that reads a text would pay for that.
    """
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                try:
                    with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                        if group in file.read():
                            return True
                except OSError:
                    continue
    return False
