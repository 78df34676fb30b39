"""A mail that is to be sent: checked, put together, and shown to the person who approves it."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.files.root import Root
from callblocks.toolkits.workspace.backend import Json, Office
from callblocks.toolkits.workspace.mail_text import header_of
from callblocks.toolkits.workspace.recipients import MOST, Recipient, read_recipients

if TYPE_CHECKING:
    from callblocks.toolkits.workspace.mime import Attachment, Draft, Parent

__all__ = ("Outgoing", "Prepared", "prepare", "preview_text")


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """What `gmail_send` was given."""

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
    """A mail ready to be sent, in a thread or ("") in one of its own."""

    draft: Draft
    raw: bytes
    thread_id: str


def prepare(office: Office, root: Root, given: Outgoing) -> Prepared:
    """Check what was given and compose the message; nothing is sent."""
    from callblocks.toolkits.workspace.mime import Draft, compose

    to, cc, bcc = (
        read_recipients(field, people)
        for field, people in (("to", given.to), ("cc", given.cc), ("bcc", given.bcc))
    )
    _require_recipients([*to, *cc, *bcc])
    attachments = [_attachment(root, path) for path in given.attachments]
    parent, thread_id = _parent(office, given)
    draft = Draft(
        to=to,
        cc=cc,
        bcc=bcc,
        subject=given.subject,
        body=given.body,
        html=given.html,
        attachments=attachments,
        parent=parent,
    )
    return Prepared(draft, compose(draft), thread_id)


def preview_text(mail: Prepared) -> str:
    """All of a mail that is to be sent."""
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


def _attachment(root: Root, path: str) -> Attachment:
    from callblocks.toolkits.workspace.mime import LIMIT, Attachment

    content = root.read(path, LIMIT)
    mime, encoding = mimetypes.guess_type(path)
    # A packed file is of the type of its packing; a mail in a mail is sent as a file.
    plain = mime is not None and encoding is None and not mime.startswith(("message/", "multipart"))
    return Attachment(
        path.rstrip("/").rpartition("/")[2],
        content,
        mime if plain and mime else "application/octet-stream",
    )


def _parent(office: Office, given: Outgoing) -> tuple[Parent | None, str]:
    """The message that this one answers, and its thread."""
    from callblocks.toolkits.workspace.mime import Parent

    if given.replyTo:
        answered = office.mail.message(given.replyTo)
    elif given.threadId:
        answered = _last(office.mail.thread(given.threadId))
    else:
        return None, ""
    parent = Parent(
        header_of(answered, "Message-ID"),
        header_of(answered, "References") or header_of(answered, "In-Reply-To"),
        header_of(answered, "Subject"),
    )
    return parent, str(given.threadId or answered.get("threadId", ""))


def _last(thread: Json) -> Json:
    messages: list[Json] = thread.get("messages", [])
    return messages[-1] if messages else {}
