"""The folder of the demo: a sample to work on, beside what the server keeps.

~/.local/state/callblocks/demo/workspace     the sample, laid once; then it is the person's
~/.local/state/callblocks/demo/state         chats, kept files and approvals
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from callblocks.cli.exits import Fault
from callblocks.core.call_text import format_size
from callblocks.guard.files.root import Root
from callblocks.toolkits.file_tools import PathText
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Context

__all__ = ("DemoPlace", "demo_tools", "lay_sample")

_SAMPLE = Path(__file__).parents[1] / "commands" / "sample"
_POINTS = 3000


class DemoPlace(msgspec.Struct, frozen=True):
    """Folders of the demo; the workspace is outside of the state, which no call can see."""

    folder: Path

    @property
    def state(self) -> Path:
        """The state folder of the server."""
        return self.folder / "state"

    @property
    def workspace(self) -> Path:
        """The workspace of the model."""
        return self.folder / "workspace"

    def prepare(self) -> None:
        """Make what is not there yet; what a person changed stays as it is."""
        try:
            self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self.workspace.exists():
                lay_sample(self.workspace)
        except OSError as error:
            words = f"{error.filename or self.folder}: {error.strerror or error}"
            raise Fault(f"{words}; name another folder with --state") from error


def lay_sample(workspace: Path) -> None:
    """Put the sample there, whole or not at all."""
    from callblocks.toolkits.office.open_office import FOLDER
    from callblocks.toolkits.office.sample_office import lay_office

    # Beside it, so that it is moved and not copied.
    with tempfile.TemporaryDirectory(dir=workspace.parent) as beside:
        laid = Path(beside, "workspace")
        shutil.copytree(_SAMPLE, laid, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        (laid / "soundings.csv").write_text("\n".join((*_soundings(), "")), "utf-8")
        # An installed package may be read-only, and so would be what is copied from it.
        for path in (laid, *laid.rglob("*")):
            path.chmod(0o700 if path.is_dir() else 0o600)
        lay_office(laid / FOLDER)
        os.replace(laid, workspace)


def _soundings() -> Iterable[str]:
    """A long table: how deep the water is along the way, step by step, at high water."""
    yield "step,metres_from_shore,depth_m,ground"
    for step in range(1, _POINTS + 1):
        way = step / _POINTS
        depth = 4.6 * math.sin(math.pi * way) ** 0.5 + 0.3 * math.sin(way * 90)
        ground = ("sand", "sand", "mud", "stones")[int(way * 23) % 4]
        yield f"{step},{step * 0.8:.1f},{max(depth, 0):.2f},{ground}"


# --- `file_show`: a file of the workspace for the person to look at, kept as it is now ---
#
# A model that reads a PDF or a picture gets nothing from it. So the page shows it, and the model is
# told that it is shown.


def demo_tools(root: Root) -> Registry:
    """The tools that only the demo has."""

    @tool(read_only=True)
    def file_show(path: PathText, context: Context) -> str:
        """Show a file of the workspace to the person: a picture, a PDF, a table, a text.

        Args:
            path: the file, from the workspace down, such as charts/sales.pdf
        """
        content = root.read(path)
        context.keep(path.rpartition("/")[2], content)
        return f"{path} is shown, {format_size(len(content))}"

    return Registry([file_show])
