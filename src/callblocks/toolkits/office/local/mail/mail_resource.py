"""A mail file as Gmail's resource.

    {"id", "threadId", "labelIds", "snippet", "internalDate", "sizeEstimate",
     "payload": {"partId", "mimeType", "filename", "headers", "body", "parts"}}

Headers are decoded, bodies are base64url; an attached file is an `attachmentId` and a size. Any
bytes can be read: broken parts are given as they stand.

Mail is hostile input and the standard library's parser is quadratic in several places. So its cost
is estimated on the raw bytes first; a message that would take too long is read by its headers
alone.
"""

from __future__ import annotations

import base64
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from email.utils import parsedate_to_datetime
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec

from callblocks.core.errors import ToolError
from callblocks.guard.files.real_path import FOLDER, naming
from callblocks.guard.files.replace_file import flush_folder
from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.mail_text import (
    HEADERS,
    decode_bytes,
    header_of,
    parts_of,
    text_of_mail,
)

__all__ = (
    "COLUMNS",
    "LARGEST",
    "SYSTEM",
    "Damaged",
    "Mail",
    "MailBox",
    "MailEntry",
    "MailFile",
    "attachment_bytes",
    "header_values",
    "id_of",
    "is_mail",
    "labels_of",
    "payload_of",
    "read_entry",
    "read_labels",
    "read_mail",
    "slug",
    "spaced",
    "whole_resource",
)

# --- The Maildir of an office: one file per message, as mail programs keep it ---
#
#     mail/new/<unique>              not seen by a program yet
#     mail/cur/<unique>:2,<flags>    S seen, F starred, T trash, D draft …
#     mail/tmp/                      what is being written
#     mail/address                   the person's own address
#
# The unique part identifies a message; flags change by renaming. Links are never followed. A
# message
# is written in `tmp` and renamed from there, so no program sees a partial one. Maildir needs no
# locks: each step is one atomic rename.

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
                with suppress(FileNotFoundError), _below_folder(mail, folder) as opened:
                    names = (name for name in os.listdir(opened) if name[0] != ".")
                    found.update(f"{folder}/{name}" for name in names)
        return found

    def read(self, file: MailFile) -> tuple[bytes, os.stat_result]:
        """Read a file; `OSError` for links, other file types and large files."""
        with self._open() as mail, _below_folder(mail, file.folder) as opened:
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
            with self._open() as mail, _below_folder(mail, file.folder) as opened:
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
                _below_folder(mail, "tmp") as temporary,
                _below_folder(mail, folder) as target,
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
            with _below_folder(office, "mail") as mail:
                for name in (*_FOLDERS, "tmp"):
                    _make_folder(mail, name)

    @contextmanager
    def _open(self) -> Generator[int, None, None]:
        with _folder(str(self._office)) as office, _below_folder(office, "mail") as mail:
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


def _below_folder(at: int, name: str) -> AbstractContextManager[int]:
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


# --- A mail file as Gmail's resource ---

Mail: TypeAlias = "Message[Any, Any]"

_DEEPEST = 20
_MOST_PARTS = 500
_MOST_HEADERS = 500
_LONGEST_HEADER = 20_000
_HEAD = 1_000_000
_MOST_COMPARED = 5_000_000
_MOST_BOUNDARIES = 20_000
_MULTIPART = re.compile(rb"multipart/", re.IGNORECASE)
# The library parses header parameters in quadratic time, so long Content headers are refused.
_LONG_HEADER = re.compile(
    rb"(?:\A|[\r\n])content-[a-z-]+:(?:[^\r\n]|\r?\n[ \t]|\r[ \t]){4000}", re.IGNORECASE
)
_BLANK_LINE = re.compile(rb"\n\r?\n|\r\r")
_FOLD = re.compile(r"\r?\n[ \t]*")
_KNOWN = ("from", "to", "subject", "date", "message-id", "received", "return-path", "cc", "bcc")


class Damaged(Exception):
    """A file that is no mail; the message says why."""


def read_mail(raw: bytes) -> Mail:
    """Parse a message; only its headers if the whole would take too long."""
    if _LONG_HEADER.search(raw):
        raise Damaged("a header of it is too long")
    parser = BytesParser(policy=compat32)
    if not _BLANK_LINE.search(raw, 0, _HEAD) and len(raw) > _HEAD:
        return parser.parsebytes(raw[:_HEAD], headersonly=True)
    # The parser compares each line with the boundary of every enclosing multipart, and each
    # boundary creates an object of some kilobytes. Both products are bounded before parsing.
    lines = raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n")
    inside = len(_MULTIPART.findall(raw))
    parts = raw.count(b"\n--") + raw.count(b"\r--") if inside else 0
    if lines * (1 + inside) <= _MOST_COMPARED and parts <= _MOST_BOUNDARIES:
        with suppress(RecursionError):
            return parser.parsebytes(raw)
    return parser.parsebytes(raw[:_HEAD], headersonly=True)


def is_mail(mail: Mail) -> bool:
    """Tell if it has any header that mail has."""
    return any(name.lower() in _KNOWN for name in mail.keys())  # noqa: SIM118 no mapping


def header_values(mail: Mail) -> list[tuple[str, str]]:
    """Return all headers, decoded, in their order."""
    found: list[tuple[str, str]] = []
    for name, value in mail.raw_items():
        if len(found) == _MOST_HEADERS:
            break
        found.append((_text(name), _decoded(_text(str(value)[:_LONGEST_HEADER]))))
    return found


def payload_of(mail: Mail) -> Json:
    """Return the message part by part."""
    return _part(mail, "", _counter(), 0)


def attachment_bytes(mail: Mail, attachment_id: str) -> bytes | None:
    """Return the content of an attachment; `None` if there is none of that id."""
    for part_id, part, depth in _walk(mail, "", 0):
        inner = depth < _DEEPEST and bool(_inner(part, part_id))
        if _attachment_id(part_id) == attachment_id and not inner:
            return _content(part)
    return None


def _walk(part: Mail, part_id: str, depth: int) -> Iterator[tuple[str, Mail, int]]:
    yield part_id, part, depth
    if depth < _DEEPEST:
        for inner_id, inner in _inner(part, part_id):
            yield from _walk(inner, inner_id, depth + 1)


def _inner(part: Mail, part_id: str) -> list[tuple[str, Mail]]:
    """Return the parts of a multipart with their ids: 0, 1, 1.0, 1.1 …"""
    if part.get_content_maintype() != "multipart" or not part.is_multipart():
        return []
    prefix = f"{part_id}." if part_id else ""
    return [(f"{prefix}{at}", inner) for at, inner in enumerate(_below(part))]


def _below(part: Mail) -> list[Mail]:
    return cast("list[Mail]", part.get_payload())


def _counter() -> Iterator[int]:
    return iter(range(_MOST_PARTS))


def _part(part: Mail, part_id: str, left: Iterator[int], depth: int) -> Json:
    resource: Json = {
        "partId": part_id,
        "mimeType": part.get_content_type(),
        "filename": _filename(part),
        "headers": [{"name": name, "value": value} for name, value in header_values(part)],
    }
    inner = _inner(part, part_id) if depth < _DEEPEST else []
    if inner:
        resource["body"] = {"size": 0}
        resource["parts"] = [
            _part(below, below_id, left, depth + 1)
            for below_id, below in inner
            if next(left, None) is not None
        ]
    else:
        resource["body"] = _body(part, part_id, resource["filename"])
    return resource


def _body(part: Mail, part_id: str, filename: str) -> Json:
    content = _content(part)
    if filename or part.get_content_maintype() != "text":
        return {"attachmentId": _attachment_id(part_id), "size": len(content)}
    return {"size": len(content), "data": base64.urlsafe_b64encode(content).decode()}


def _attachment_id(part_id: str) -> str:
    return f"att-{part_id or '0'}"


def _content(part: Mail) -> bytes:
    if part.is_multipart():  # a mail in the mail, or parts that are nested too deep
        return b"".join(one.as_bytes(policy=compat32) for one in _below(part))
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _filename(part: Mail) -> str:
    try:
        name = part.get_filename() or ""
    except (LookupError, TypeError, ValueError):  # a name in an encoding that is none
        name = ""
    if not name and part.get_content_type() == "message/rfc822":
        name = "message.eml"
    plain = _decoded(_text(name)).replace("\\", "/").rpartition("/")[2]
    return plain.replace("\0", "")[:255]


def _text(value: str) -> str:
    """Decode a raw header: the parser represents non-ASCII bytes as surrogates."""
    if value.isascii():
        return value
    try:
        return decode_bytes(value.encode("ascii", "surrogateescape"), "")
    except UnicodeEncodeError:  # decoded already
        return value.encode("utf-8", "replace").decode()


def _decoded(value: str) -> str:
    """Return a header as one line with its encoded words decoded."""
    plain = _FOLD.sub(" ", value).strip() if "\n" in value else value.strip()
    if "=?" not in plain:
        return plain
    try:
        pieces = decode_header(plain)
    except (HeaderParseError, ValueError):  # base64 that is none
        return plain
    return " ".join("".join(_word(piece, charset) for piece, charset in pieces).splitlines())


def _word(piece: bytes | str, charset: str | None) -> str:
    if isinstance(piece, str):
        return piece
    if charset is not None:
        return decode_bytes(piece, charset)
    try:
        # `decode_header` returns the text between encoded words in this encoding.
        return piece.decode("raw-unicode-escape")
    except UnicodeDecodeError:
        return piece.decode("latin-1")


# --- The labels of a message, from its header `X-Gmail-Labels` and the flags of its file ---
#
#     X-Gmail-Labels: Inbox,Starred,Trips     INBOX, STARRED, Trips
#     cur/1700000000.x.host:2,S               S seen, F starred, T trash, D draft
#
# A message without the header is in the inbox, unless its flags say otherwise. Mail programs change
# flags and never the header, so flags take precedence for what they express.

# The labels that every mailbox has.
SYSTEM = (
    *("INBOX", "SENT", "DRAFT", "TRASH", "SPAM", "UNREAD", "STARRED", "IMPORTANT", "CHAT"),
    *("CATEGORY_PERSONAL", "CATEGORY_SOCIAL", "CATEGORY_PROMOTIONS", "CATEGORY_UPDATES"),
    "CATEGORY_FORUMS",
)

_OTHER_NAMES = {"DRAFTS": "DRAFT", "BIN": "TRASH", "JUNK": "SPAM", "CHATS": "CHAT"}
# Takeout exports write these for "not unread" and "not in the inbox".
_READ, _ARCHIVED = "OPENED", "ARCHIVED"
_SLUG = re.compile(r"[^\w]+")


def read_labels(header: str | None) -> list[str]:
    """Return the labels in a header, as Gmail names them; `None` means no header."""
    if header is None:
        return ["INBOX"]
    names = (name.strip().strip('"').strip() for name in header.split(","))
    return list(dict.fromkeys(_label(name) for name in names if name))


def labels_of(said: list[str], flags: str) -> list[str]:
    """Return the labels of a message from its header's labels and its file's flags."""
    labels = [one for one in said if one not in (_READ, _ARCHIVED, "UNREAD")]
    if "S" not in flags and _READ not in said:
        labels.append("UNREAD")
    if "F" in flags:
        labels.append("STARRED")
    elsewhere = [label for flag, label in (("T", "TRASH"), ("D", "DRAFT")) if flag in flags]
    if elsewhere:
        labels = [*(one for one in labels if one != "INBOX"), *elsewhere]
    return list(dict.fromkeys(labels))


def slug(label: str) -> str:
    """Return a label as a search names it: `label:my-trips` finds `My Trips`."""
    return _SLUG.sub("-", label.casefold()).strip("-") or label


def _label(name: str) -> str:
    plain = name.upper().replace(" ", "_")
    plain = _OTHER_NAMES.get(plain, plain)
    return plain if plain in (*SYSTEM, _READ, _ARCHIVED) else name


# --- The index entry of one message, read from its file ---

# The searchable texts of a message; the columns of the full-text table.
COLUMNS = (
    *("sender", "receiver", "cc", "bcc", "subject", "body", "filename"),
    *("list", "delivered"),
)

_WORDS_OF = ("From", "To", "Cc", "Bcc", "Subject")
_SNIPPET = 200
_LONGEST = 200_000
_KEPT = frozenset(name.lower() for name in HEADERS)
# Scripts without blanks between words: each character is indexed as a word.
_UNSPACED = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff])")
# The time in a unique name as Maildir recommends it: seconds, then M and microseconds.
_WRITTEN = re.compile(r"([0-9]{1,12})\.M([0-9]{1,6})(?![0-9])")
_MESSAGE_ID = re.compile(r"<([^<>\s]{1,500})>")


class MailEntry(msgspec.Struct, frozen=True):
    """One message: its date and size, its search texts, and its resource in a list.

    `parent` is the message id that its thread begins with, according to the message itself: the
    first of its references, or the one that it answers.
    """

    id: str
    date: int
    size: int
    said: list[str]
    message_id: str
    parent: str
    attachment: bool
    resource: Json
    words: tuple[str, ...]


def read_entry(file: MailFile, raw: bytes, status: os.stat_result) -> MailEntry:
    """Return the index entry of a file; `Damaged` if it is no mail."""
    whole = whole_resource(file, raw, status)
    payload = whole["payload"]
    said = [one["value"] for one in payload["headers"] if one["name"].lower() == "x-gmail-labels"]
    own = _MESSAGE_ID.findall(header_of(whole, "Message-ID"))
    before = _MESSAGE_ID.findall(header_of(whole, "References"))
    answered = _MESSAGE_ID.findall(header_of(whole, "In-Reply-To"))
    kept = [one for one in payload["headers"] if one["name"].lower() in _KEPT]
    return MailEntry(
        id=whole["id"],
        date=int(whole["internalDate"]),
        size=whole["sizeEstimate"],
        said=read_labels(said[0] if said else None),
        message_id=own[0] if own else whole["id"],
        parent=next(iter((*before, *answered)), ""),
        attachment=any(map(_is_attachment, parts_of(payload))),
        resource=whole | {"payload": {"mimeType": payload["mimeType"], "headers": kept}},
        words=_words(whole),
    )


def whole_resource(file: MailFile, raw: bytes, status: os.stat_result) -> Json:
    """Return the resource of a message, without its labels and its thread."""
    try:
        mail = read_mail(raw)
        if not is_mail(mail):
            raise Damaged("it is no mail")
        whole: Json = {"id": id_of(file.unique), "payload": payload_of(mail)}
        text = " ".join(text_of_mail(whole).text[: 10 * _SNIPPET].split())[:_SNIPPET]
    except Damaged:
        raise
    except Exception as error:  # the standard library's parser fails in many ways
        raise Damaged(f"it cannot be read as mail: {type(error).__name__}") from error
    return whole | {
        "snippet": escape(text),
        "internalDate": str(_moment(header_of(whole, "Date"), file, status)),
        "sizeEstimate": len(raw),
    }


def spaced(text: str) -> str:
    """Return the text with blanks around characters that are words by themselves."""
    return _UNSPACED.sub(r" \1 ", text) if not text.isascii() else text


def _moment(date: str, file: MailFile, status: os.stat_result) -> int:
    """Return milliseconds since 1970: the header's date, or the file's mtime."""
    try:
        said = parsedate_to_datetime(date)
        aware = said if said.tzinfo else said.replace(tzinfo=UTC)
        seconds = max(0, int(aware.timestamp()))
    except (TypeError, ValueError, OverflowError, IndexError):
        return status.st_mtime_ns // 1_000_000
    # A header has a resolution of seconds. The microseconds of the file's name order two messages
    # of the same second, which decides where a page ends.
    named = _WRITTEN.match(file.unique)
    exact = int(named[2]) // 1000 if named and int(named[1]) == seconds else 0
    return seconds * 1000 + exact


def _is_attachment(part: Json) -> bool:
    """Tell if a part is a file for the person and not an image within the text."""
    if not part.get("filename"):
        return False
    kind = header_of({"payload": part}, "Content-Disposition").lower()
    return not (kind.startswith("inline") and part["mimeType"].startswith("image/"))


def _words(whole: Json) -> tuple[str, ...]:
    names = "\n".join(part["filename"] for part in parts_of(whole["payload"]))
    texts = (
        *(header_of(whole, name) for name in _WORDS_OF),
        text_of_mail(whole).text[:_LONGEST],
        names,
        header_of(whole, "List-Id"),
        header_of(whole, "Delivered-To"),
    )
    return tuple(spaced(text.replace("\0", " ")) for text in texts)
