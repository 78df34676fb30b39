"""Put the pages into the wheel as `callblocks/web.zip`, which takes a third of their room.

A hook of hatchling. The same pages give the same bytes: names are sorted and times are fixed.
What only developers read is left out: types, and the comments above functions.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LEFT_OUT = {"__pycache__", "types"}
UNSERVED = (".d.ts", ".json", ".md")
# Smaller than deflated. A Python without lzma serves all but these, and the page does without
# colours, formulas and diagrams: see `server/pages.py`.
LARGE = {f"vendor/{name}.js" for name in ("highlight", "mermaid", "temml")}
# A comment on lines of its own; `tests/web/test_packed.py` holds that nothing else goes.
_COMMENT = re.compile(r"^[ \t]*/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*\n", re.MULTILINE)


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
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(files):
            name = path.relative_to(folder)
            if is_packed(name):
                entry = zipfile.ZipInfo(name.as_posix(), (1980, 1, 1, 0, 0, 0))
                kind = zipfile.ZIP_LZMA if name.as_posix() in LARGE else zipfile.ZIP_DEFLATED
                packed.writestr(entry, content_of(path, name), kind)


def is_packed(name: Path) -> bool:
    """Return whether a file of the pages is served to anybody."""
    return not LEFT_OUT & set(name.parts) and not name.name.endswith(UNSERVED)


def content_of(path: Path, name: Path) -> bytes:
    """Return a file as it is packed: modules of ours without the comments above their parts."""
    if path.suffix != ".js" or name.parts[0] == "vendor":
        return path.read_bytes()
    return _COMMENT.sub("", path.read_text("utf-8")).encode()
