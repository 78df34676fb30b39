"""Notices about an office as a whole."""

from __future__ import annotations

from callblocks.toolkits.workspace.backend import Office
from callblocks.tools.context import Context

__all__ = ("tell_absent",)


def tell_absent(office: Office, context: Context) -> None:
    """Add a notice if a list is empty because there is no office."""
    if getattr(office, "is_absent", False):
        context.notice(
            "no_office",
            "there is no office in this workspace yet, so there is nothing to find; what is "
            "made first makes it, and the person may lay a sample: callblocks workspace init",
        )
