"""Put the pages into the wheel as `callblocks/web.zip`, which takes a third of their room.

A hook of hatchling. The same pages give the same bytes: names are sorted and times are fixed.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LEFT_OUT = {"__pycache__", "types"}
# A quarter less than deflated. A Python without lzma serves all but these: see `server/pages.py`.
LARGE = {"vendor/mermaid.js"}


class PackPages(BuildHookInterface[Any]):
    """Adds the archive to a wheel; an editable one finds the folder itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the archive and name it among the files of the wheel."""
        if version == "editable":
            return
        archive = Path(self.directory) / "web.zip"
        archive.parent.mkdir(parents=True, exist_ok=True)
        pack(Path(self.root) / "web", archive)
        build_data["force_include"][str(archive)] = "callblocks/web.zip"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the archive that stands beside the wheel."""
        (Path(self.directory) / "web.zip").unlink(missing_ok=True)


def pack(folder: Path, archive: Path) -> None:
    """Write all files of a folder into an archive."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_LZMA) as packed:
        for path in sorted(files):
            name = path.relative_to(folder)
            if not LEFT_OUT & set(name.parts):
                entry = zipfile.ZipInfo(name.as_posix(), (1980, 1, 1, 0, 0, 0))
                kind = zipfile.ZIP_LZMA if name.as_posix() in LARGE else zipfile.ZIP_DEFLATED
                packed.writestr(entry, path.read_bytes(), kind)
