"""The model of a chat, and the dialect that suits it.

scripted        the scripts that come with callblocks; in a workspace with an office also
                those that work on its sample
anything else   as `callblocks.models.opening` reads it
"""

from __future__ import annotations

from pathlib import Path

from callblocks.cli.dialect_name import AUTO
from callblocks.cli.workplace import WorkplaceOptions
from callblocks.models.model import Model
from callblocks.models.opening import open_model
from callblocks.models.scripted import ScriptedModel

__all__ = ("OFFICE_SCRIPTS", "open_chat_model", "suited_dialect")

OFFICE_SCRIPTS = Path(__file__).with_name("office_scripts")
"""The scripts that work on the sample of `callblocks workspace init`."""

_SCRIPTED = "scripted"


def open_chat_model(spec: str, options: WorkplaceOptions) -> Model:
    """The model that a text names, for a chat in that workspace."""
    if spec == _SCRIPTED and options["office"] == "local" and _has_office(options["workspace"]):
        return ScriptedModel(more=(OFFICE_SCRIPTS,))
    return open_model(spec)


def suited_dialect(spec: str, named: str | None) -> str:
    """The dialect that was named, or the one that suits a model."""
    scripted = spec.partition(":")[0] == _SCRIPTED
    return named or (AUTO if scripted else "")


def _has_office(workspace: str) -> bool:
    from callblocks.toolkits.workspace.local.office import is_office
    from callblocks.toolkits.workspace.opening import FOLDER

    return is_office(Path(workspace, FOLDER))
