"""A folder of scripts in its current state: changed files are read again.

Files that end in `.md` are scripts. `default.md` answers where no other matches. A file that cannot
be read is left out, and `broken` says why.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from callblocks.model.brief import brief
from callblocks.model.errors import CallerError
from callblocks.models.matching import best_cover
from callblocks.models.script import BadScript, Script, read_script

__all__ = ("ScriptFolder",)

DEFAULT = "default"
_LARGEST = 1_000_000  # bytes


class _File(msgspec.Struct, frozen=True):
    stamp: tuple[int, int]
    script: Script | None
    fault: str = ""


class ScriptFolder:
    """The scripts of a folder, by file name; those of `more` are among them."""

    def __init__(self, folder: Path, more: Iterable[Path] = ()) -> None:
        self.folder = folder
        self._folders = (folder, *more)
        self._files: dict[Path, _File] = {}
        try:
            self._read()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise CallerError(
                f"{brief(str(folder))} is no folder of scripts: {why}; give one with .md files"
            ) from error

    @property
    def scripts(self) -> tuple[Script, ...]:
        """Return the playable scripts, in the order of their file names."""
        self._refresh()
        return tuple(file.script for file in self._files.values() if file.script is not None)

    @property
    def broken(self) -> dict[str, str]:
        """Return the other files, with the reason."""
        self._refresh()
        return {path.name: file.fault for path, file in self._files.items() if file.fault}

    def named(self, name: str) -> Script | None:
        """Return the script of a name."""
        return next((one for one in self.scripts if one.name == name), None) if name else None

    def find(self, said: str) -> Script | None:
        """Return the script that matches best; else the default, if there is one."""
        scripts = self.scripts
        best = max(scripts, key=lambda script: best_cover(script.patterns, said), default=None)
        if best is not None and best_cover(best.patterns, said):
            return best
        return next((script for script in scripts if script.name == DEFAULT), None)

    def _refresh(self) -> None:
        try:
            self._read()
        except OSError:
            # The folder vanished during a conversation: the scripts read before stay known.
            return

    def _read(self) -> None:
        paths: list[Path] = []
        for folder in self._folders:
            with os.scandir(folder) as entries:
                paths += [folder / entry.name for entry in entries if entry.name.endswith(".md")]
        paths.sort(key=lambda path: path.name)
        self._files = {path: self._file(path) for path in paths}

    def _file(self, path: Path) -> _File:
        try:
            found = path.stat()
            # Time and size together: an editor may save twice within the resolution of the clock.
            stamp = (found.st_mtime_ns, found.st_size)
            known = self._files.get(path)
            return known if known is not None and known.stamp == stamp else _load(path, stamp)
        except OSError as error:
            return _File((0, 0), None, error.strerror or type(error).__name__)


def _load(path: Path, stamp: tuple[int, int]) -> _File:
    if not path.is_file():
        return _File(stamp, None, "it is no file")
    if stamp[1] > _LARGEST:
        return _File(stamp, None, f"it has {stamp[1]} bytes; a script has at most {_LARGEST}")
    try:
        return _File(stamp, read_script(path.stem, path.read_text("utf-8-sig")))
    except BadScript as error:
        return _File(stamp, None, str(error))
    except UnicodeDecodeError as error:
        return _File(stamp, None, f"it is not UTF-8: byte {error.start}")
