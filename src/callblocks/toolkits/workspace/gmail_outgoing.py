"""An outgoing mail: checked, composed, and shown to the person who approves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from callblocks.model.errors import ToolError
from callblocks.runtime.files.root import Root
from callblocks.toolkits.workspace.backend import Json, Office
from callblocks.toolkits.workspace.gmail_files import attached
from callblocks.toolkits.workspace.mail_text import header_of
from callblocks.toolkits.workspace.recipients import (
    CONTROL,
    MOST,
    Recipient,
    read_recipients,
)

if TYPE_CHECKING:
    from callblocks.toolkits.workspace.mime import Draft, Parent

__all__ = ("Outgoing", "Prepared", "prepare", "preview_text")


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
    from callblocks.toolkits.workspace.mime import Draft, compose

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
    from callblocks.toolkits.workspace.mime import Parent

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
