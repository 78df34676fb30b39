"""An outgoing mail: checked, composed, and shown to the person who approves it."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.root import Root
from callblocks.toolkits.office.backend import EXPORTS, FOLDER, SPREADSHEET, Json, Office, is_native
from callblocks.toolkits.office.mail_text import header_of
from callblocks.toolkits.office.mime_message import CONTROL, MOST, Recipient, read_recipients
from callblocks.toolkits.office.tools.drive_view import ENDINGS
from callblocks.toolkits.office.tools.id_suggestions import meant_file, paths_of

if TYPE_CHECKING:
    from callblocks.toolkits.office.mime_message import Attachment, Draft, Parent

__all__ = (
    "Outgoing",
    "Prepared",
    "attached",
    "carried_paths",
    "prepare",
    "preview_text",
    "real_paths",
)

# --- The attachments of an outgoing mail: files of the workspace and of the drive ---
#
#     reports/may.pdf      a path of the workspace
#     drive:1AbC…          a file of the drive by its id; without `drive:` if no path is called so
#
# A document of the drive is sent as Markdown, a spreadsheet as an Excel file.

_DRIVE = "drive:"
_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def attached(office: Office, root: Root, given: Sequence[str]) -> Iterator[Attachment]:
    """Yield the files one by one, and stop at the size limit."""
    from callblocks.toolkits.office.mime_message import require_size

    total = 0
    for one in given:
        file = _drive_file(office, root, one)
        found = _of_path(root, one) if file is None else _of_drive(office, file)
        # Base64 turns three bytes into four.
        total += len(found.content) * 4 // 3
        # Checked after each file, so that a list of large files is not read into memory as a whole.
        require_size(total)
        yield found


def real_paths(office: Office, root: Root, given: str) -> list[str]:
    """Return the workspace paths that are read, for a policy to judge."""
    file = _drive_file(office, root, given)
    paths = [given] if file is None else paths_of(office, file["id"])
    return [real for real in map(root.resolve, paths) if real is not None]


def carried_paths(root: Root, given: dict[str, Any]) -> list[str]:
    """Return the paths of everything that leaves with a mail.

    An attachment that is no file of the workspace is one of the office. A reply carries the subject
    of the answered mail.
    """
    # Called for the policy, before approval, so it must not ask the office: an id is judged as the
    # whole drive, which is the safe side.
    answers = given.get("replyTo") or given.get("threadId")
    paths = [_carried(root, one) for one in given.get("attachments", ())]
    return [*paths, "office/mail"] if answers else paths


def _carried(root: Root, given: str) -> str:
    try:
        return root.stat(given).path
    except ToolError:
        return "office/drive"


def _drive_file(office: Office, root: Root, given: str) -> Json | None:
    """Return the file of the drive that is meant; `None` for a path of the workspace."""
    if given.startswith(_DRIVE):
        wanted = given.removeprefix(_DRIVE).strip()
        with meant_file(office, wanted):
            return office.drive.file(wanted)
    try:
        root.stat(given)
    except ToolError as error:
        return _known_file(office, given) if error.code == "path_not_found" else None
    return None


def _known_file(office: Office, given: str) -> Json | None:
    try:
        return None if "/" in given else office.drive.file(given)
    except ToolError:  # then it is a path, and nothing is there
        return None


def _of_drive(office: Office, file: Json) -> Attachment:
    from callblocks.toolkits.office.mime_message import LIMIT, Attachment, require_size

    kind, name = str(file["mimeType"]), str(file["name"])
    if kind == FOLDER:
        why = f"{brief(name)} is a folder; attach the files in it one by one"
        raise ToolError("invalid_input", f"attachments: {why}", attachments=why)
    if not is_native(kind):
        require_size(min(int(file.get("size", 0)), LIMIT + 1))
        content, mime = office.drive.content(file["id"], "")
        return Attachment(_named_file(name), content, _plain_type(mime))
    content, mime = _exported(office, file)
    ending = ENDINGS.get(mime, "")
    return Attachment(_named_file(name.removesuffix(ending) + ending), content, _plain_type(mime))


def _exported(office: Office, file: Json) -> tuple[bytes, str]:
    kind = str(file["mimeType"])
    wanted = EXPORTS.get(kind, "application/pdf")
    if kind != SPREADSHEET:
        return office.drive.content(file["id"], wanted)
    try:
        return office.drive.content(file["id"], _EXCEL)
    except ToolError as error:
        if error.code != "invalid_input":
            raise
        # The Excel writer is not installed.
        return office.drive.content(file["id"], wanted)


def _of_path(root: Root, path: str) -> Attachment:
    from callblocks.toolkits.office.mime_message import LIMIT, Attachment

    content = root.read(path, LIMIT)
    mime, encoding = mimetypes.guess_type(path)
    # A compressed file has the type of its compression, not of its content.
    plain = mime if mime is not None and encoding is None else ""
    return Attachment(path.rstrip("/").rpartition("/")[2], content, _plain_type(plain))


def _named_file(name: str) -> str:
    """Return a file name for a header: one line, no folders."""
    return " ".join(name.replace("/", "_").replace("\\", "_").split()) or "file"


def _plain_type(mime: str) -> str:
    """Return a valid type for a MIME part; a mail within a mail is sent as a plain file."""
    plain = mime.partition(";")[0].strip().lower()
    fit = "/" in plain and plain.isascii() and not plain.startswith(("message/", "multipart"))
    return plain if fit else "application/octet-stream"


# --- An outgoing mail: checked, composed, and shown to the person who approves it ---

_LONGEST_NAME = 200


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """The input of `gmail_send`."""

    to: str | Sequence[str]
    subject: str
    body: str
    cc: str | Sequence[str] = ""
    bcc: str | Sequence[str] = ""
    html: str = ""
    attachments: Sequence[str] = ()
    replyTo: str = ""
    threadId: str = ""


class Prepared(msgspec.Struct, frozen=True):
    """A mail ready to be sent, in a thread or ("") in a new one."""

    draft: Draft
    raw: bytes
    thread_id: str


def prepare(office: Office, root: Root, given: Outgoing) -> Prepared:
    """Check the input and compose the message; nothing is sent."""
    from callblocks.toolkits.office.mime_message import Draft, compose

    to, cc, bcc = (
        read_recipients(field, people)
        for field, people in (("to", given.to), ("cc", given.cc), ("bcc", given.bcc))
    )
    answered = _answered(office, given)
    # `replyTo` without recipients answers the author. Only `threadId` does not: in a long thread it
    # is not clear who is meant, so the recipients must be named.
    if not to and answered and given.replyTo:
        to = _sender(answered, office.mail.address())
    _require_recipients([*to, *cc, *bcc])
    attachments = list(attached(office, root, given.attachments))
    draft = Draft(
        to=to,
        cc=cc,
        bcc=bcc,
        subject=given.subject,
        body=given.body,
        html=given.html,
        attachments=attachments,
        parent=_parent(answered) if answered else None,
    )
    thread_id = str(given.threadId or answered.get("threadId", ""))
    return Prepared(draft, compose(draft), thread_id)


def preview_text(mail: Prepared) -> str:
    """Return the whole mail as text."""
    draft = mail.draft
    lines = [f"{name}: {one}" for name, people in _people(draft) for one in people]
    lines.append(f"Subject: {draft.told()}")
    if draft.parent:
        lines.append(f"In answer to: {' '.join(draft.parent.subject.split())}")
    lines += [f"Attachment: {one.name} ({len(one.content)} bytes)" for one in draft.attachments]
    text = f"{draft.body}\n\nHTML:\n{draft.html}" if draft.html else draft.body
    return "\n".join((*lines, "", text))


def _people(draft: Draft) -> tuple[tuple[str, Sequence[Recipient]], ...]:
    return ("To", draft.to), ("Cc", draft.cc), ("Bcc", draft.bcc)


def _require_recipients(everyone: Sequence[Recipient]) -> None:
    if not everyone:
        why = "a mail needs someone who gets it; write an address such as name@example.org"
    elif len(everyone) > MOST:
        why = f"{len(everyone)} recipients are more than the {MOST} that a mail may have"
    else:
        return
    raise ToolError("invalid_input", f"to: {why}", to=why)


def _answered(office: Office, given: Outgoing) -> Json:
    """Return the message that this one answers; {} for none."""
    if given.replyTo:
        return office.mail.message(given.replyTo)
    return _last(office.mail.thread(given.threadId)) if given.threadId else {}


def _parent(answered: Json) -> Parent:
    from callblocks.toolkits.office.mime_message import Parent

    return Parent(
        header_of(answered, "Message-ID"),
        header_of(answered, "References") or header_of(answered, "In-Reply-To"),
        header_of(answered, "Subject"),
    )


def _sender(answered: Json, own: str) -> list[Recipient]:
    """Return who gets an answer: the author, or for an own mail its recipients."""
    # Reply-To takes precedence over From (RFC 5322, 3.6.2).
    authors = _named(answered, "Reply-To") or _named(answered, "From")
    others = [one for one in authors if one.address.lower() != own.lower()]
    return others if others or not authors else _named(answered, "To")


def _named(answered: Json, header: str) -> list[Recipient]:
    """Return the people in a foreign header, checked like those that a model names."""
    from email.utils import getaddresses

    # The header is foreign. It is cleaned and then parsed by the same strict rules as the input of
    # a model: an answer must not reach an address that a model could not have named.
    said = CONTROL.sub(" ", header_of(answered, header))
    found = [(name[:_LONGEST_NAME], one) for name, one in getaddresses([said]) if "@" in one]
    return [Recipient(read_recipients("to", one)[0].address, name) for name, one in found]


def _last(thread: Json) -> Json:
    messages: list[Json] = thread.get("messages", [])
    return messages[-1] if messages else {}
