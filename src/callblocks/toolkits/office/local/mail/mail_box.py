"""The Maildir of an office: one file per message, as mail programs keep it.

    mail/new/<unique>              not seen by a program yet
    mail/cur/<unique>:2,<flags>    S seen, F starred, T trash, D draft …
    mail/tmp/                      what is being written
    mail/address                   the person's own address

The unique part identifies a message; flags change by renaming. Links are never followed. A message
is written in `tmp` and renamed from there, so no program sees a partial one. Maildir needs no
locks: each step is one atomic rename.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from callblocks.core.errors import ToolError
from callblocks.guard.files.real_path import FOLDER, naming
from callblocks.guard.files.replace_file import flush_folder

__all__ = ("LARGEST", "MailBox", "MailFile", "id_of")

# Size limit in bytes of a mail file.
LARGEST = 50 * 1024 * 1024

_FOLDERS = ("new", "cur")
_WHERE = "office/mail"
_ADDRESS = 320
_SETTLED = 2_000_000_000


class MailFile(msgspec.Struct, frozen=True):
    """The path of a message: `cur/<unique>:2,<flags>`."""

    place: str

    @property
    def folder(self) -> str:
        """The folder: `new` or `cur`."""
        return self.place.partition("/")[0]

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.place.partition("/")[2]

    @property
    def unique(self) -> str:
        """The part of the name that stays when flags change."""
        return self.name.partition(":")[0]

    @property
    def flags(self) -> str:
        """The letters after `:2,`."""
        return self.name.partition(":2,")[2]


def id_of(unique: str) -> str:
    """Return the id of a message, from the unique part of its file's name."""
    return sha256(os.fsencode(unique)).hexdigest()[:16]


class MailBox:
    """The mail folder of an office; it need not exist."""

    def __init__(self, office: Path) -> None:
        self._office = office

    def state(self) -> str | None:
        """Return a text that changes when files come, go or are renamed; `None` without a mailbox.

        "" means unknown: something changed within the last two seconds.
        """
        known: list[os.stat_result] = []
        with naming(_WHERE):
            try:
                with self._open() as mail:
                    for name in _FOLDERS:
                        with suppress(FileNotFoundError):
                            known.append(os.stat(name, dir_fd=mail, follow_symlinks=False))
            except FileNotFoundError:
                return None
        # A second change within one clock tick would leave the same mtime behind.
        if max((one.st_mtime_ns for one in known), default=0) > time.time_ns() - _SETTLED:
            return ""
        return " ".join(f"{one.st_dev}.{one.st_ino}.{one.st_mtime_ns}" for one in known)

    def places(self) -> set[str]:
        """Return all files of the mailbox, `<folder>/<name>`, including links."""
        found: set[str] = set()
        with naming(_WHERE), suppress(FileNotFoundError), self._open() as mail:
            for folder in _FOLDERS:
                with suppress(FileNotFoundError), _below(mail, folder) as opened:
                    names = (name for name in os.listdir(opened) if name[0] != ".")
                    found.update(f"{folder}/{name}" for name in names)
        return found

    def read(self, file: MailFile) -> tuple[bytes, os.stat_result]:
        """Read a file; `OSError` for links, other file types and large files."""
        with self._open() as mail, _below(mail, file.folder) as opened:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            with open(os.open(file.name, flags, dir_fd=opened), "rb") as content:
                status = os.fstat(content.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise OSError(errno.EINVAL, "it is no file")
                if status.st_size > LARGEST:
                    raise OSError(errno.EFBIG, f"it has more than {LARGEST} bytes")
                return content.read(LARGEST + 1), status

    def stamp(self, file: MailFile) -> str:
        """Return a text that changes when the file does; "" if it is missing."""
        try:
            with self._open() as mail, _below(mail, file.folder) as opened:
                status = os.stat(file.name, dir_fd=opened, follow_symlinks=False)
        except OSError:
            return ""
        return f"{status.st_ino}.{status.st_size}.{status.st_ctime_ns}"

    def address(self) -> str:
        """Return the content of the file `address`, or ""."""
        try:
            with self._open() as mail:
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                with open(os.open("address", flags, dir_fd=mail), "rb") as file:
                    return file.read(_ADDRESS).decode("utf-8", "replace").strip()
        except (OSError, ToolError):
            return ""

    def deliver(self, raw: bytes, moment: datetime, *, seen: bool) -> str:
        """Add a message atomically; return its unique name."""
        written = f"{int(moment.timestamp())}.M{moment.microsecond:06}"
        unique = f"{written}R{secrets.token_hex(8)}.callblocks"
        name, folder = (f"{unique}:2,S", "cur") if seen else (unique, "new")
        with naming(_WHERE):
            self._make()
            with (
                self._open() as mail,
                _below(mail, "tmp") as temporary,
                _below(mail, folder) as target,
            ):
                # fsync the file before the rename and the folder after it: a sent message must
                # survive a crash.
                _write(temporary, unique, raw)
                os.rename(unique, name, src_dir_fd=temporary, dst_dir_fd=target)
                flush_folder(target)
        return unique

    def _make(self) -> None:
        if not self._office.is_symlink():
            self._office.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _folder(str(self._office)) as office:
            _make_folder(office, "mail")
            with _below(office, "mail") as mail:
                for name in (*_FOLDERS, "tmp"):
                    _make_folder(mail, name)

    @contextmanager
    def _open(self) -> Generator[int, None, None]:
        with _folder(str(self._office)) as office, _below(office, "mail") as mail:
            yield mail


@contextmanager
def _folder(path: str, at: int | None = None) -> Generator[int, None, None]:
    try:
        opened = os.open(path, FOLDER | os.O_NOFOLLOW, dir_fd=at)
    except NotADirectoryError as error:
        why = f"{path} is no folder of the office's mail; links are not followed"
        raise ToolError("workspace_damaged", why) from error
    try:
        yield opened
    finally:
        os.close(opened)


def _below(at: int, name: str) -> AbstractContextManager[int]:
    return _folder(name, at)


def _make_folder(at: int, name: str) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=at)


def _write(folder: int, name: str, raw: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with open(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
