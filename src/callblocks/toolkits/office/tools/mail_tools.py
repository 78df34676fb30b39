"""The tools for mail.

    gmail_list     maxResults, labelIds                newest first, with headers and snippet
    gmail_read     messageId, thread, attachmentId     a message, its thread, or a file in it
    gmail_send     to, subject, body, cc, replyTo …    shown in full before it is approved
    gmail_search   query, maxResults                   in the syntax of Gmail's search box

Mail is text of others: reading it taints the turn.

Messages as shown to a model: trimmed, and with the names of labels.

Gmail gives a person's own labels ids such as `Label_12`; people know them by their names. Both are
accepted, and names are shown. The list of labels is requested only if one is not Gmail's own.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.root import Root
from callblocks.toolkits.file_tools import PathText
from callblocks.toolkits.office.backend import (
    EXPORTS,
    FOLDER,
    SPREADSHEET,
    Json,
    Mail,
    Office,
    Page,
    is_native,
)
from callblocks.toolkits.office.mail_query import read
from callblocks.toolkits.office.mail_text import (
    attachments_of,
    decode_bytes,
    header_of,
    summary_of,
    text_of_mail,
)
from callblocks.toolkits.office.mime_message import CONTROL, MOST, Recipient, read_recipients
from callblocks.toolkits.office.tools.drive_view import ENDINGS, tell_absent
from callblocks.toolkits.office.tools.id_suggestions import meant_file, paths_of
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

if TYPE_CHECKING:
    from callblocks.toolkits.office.mime_message import Attachment, Draft, Parent

__all__ = (
    "LabelNames",
    "Outgoing",
    "Prepared",
    "attached",
    "attachment_output",
    "carried_paths",
    "gmail_tools",
    "prepare",
    "preview_text",
    "real_paths",
    "shown_message",
    "shown_page",
)

_SYSTEM = re.compile(r"INBOX|SENT|DRAFT|TRASH|SPAM|UNREAD|STARRED|IMPORTANT|CHAT|CATEGORY_[A-Z]+")
_OTHER_NAMES = {"DRAFTS": "DRAFT"}


class LabelNames:
    """The labels of a mailbox by id and by name, requested when first needed."""

    def __init__(self, mail: Mail) -> None:
        self._mail = mail

    @cached_property
    def _labels(self) -> list[Json]:
        return self._mail.labels()

    def id_of(self, label: str) -> str:
        """Return the id of a label given by id or by name, in any case."""
        plain = label.strip().upper()
        plain = _OTHER_NAMES.get(plain, plain)
        if _SYSTEM.fullmatch(plain):
            return plain
        for one in self._labels:
            if label.strip().casefold() in (one["id"].casefold(), one["name"].casefold()):
                return str(one["id"])
        known = ", ".join(str(one["name"]) for one in self._labels)
        why = f"no label is called {brief(label)}; there are: {known}"
        raise ToolError("invalid_input", why, labelIds=why)

    def names_of(self, ids: Iterable[str]) -> list[str]:
        """Return the names of labels; Gmail's own are their ids."""
        return [one if _SYSTEM.fullmatch(one) else self._name_of(one) for one in ids]

    def _name_of(self, label_id: str) -> str:
        names = (str(one["name"]) for one in self._labels if one["id"] == label_id)
        return next(names, label_id)


def shown_page(messages: Iterable[Json], names: LabelNames) -> list[Json]:
    """Return the messages of a list: headers and the start of the text."""
    return [_named(summary_of(one), names) for one in messages]


def shown_message(resource: Json, names: LabelNames, context: Context) -> Json:
    """Return one message with its text; a text that is too long is cut with a notice."""
    shown = _named(summary_of(resource), names)
    del shown["snippet"]
    found = text_of_mail(resource)
    if found.cut:
        context.notice(
            "text_cut",
            f"the text of the message {brief(shown['id'])} is too long, and was cut",
        )
    shown["text"] = found.text
    attachments = attachments_of(resource)
    return shown | {"attachments": attachments} if attachments else shown


def _named(shown: Json, names: LabelNames) -> Json:
    return shown | {"labelIds": names.names_of(shown["labelIds"])}


# --- An attachment of a message: its text, or a kept file ---

_TEXT = re.compile(
    r"text/.*|message/rfc822|application/(?:json|xml|yaml|x-yaml|toml|.*\+(?:json|xml))"
)
_MOST_TEXT = 1_000_000
_FILE_NAME = re.compile(r"[\w][\w .,()\[\]+=@-]{0,149}")
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,10}$")


def attachment_output(mail: Mail, resource: Json, wanted: str, context: Context) -> Json:
    """Return an attachment for a model, by its id or by its file name."""
    found = _find(resource, wanted)
    content = _fetch(mail, resource, str(found["attachmentId"]))
    output: Json = {
        "filename": found["filename"],
        "mimeType": found["mimeType"],
        "size": len(content),
    }
    text = _text(str(found["mimeType"]), content)
    if text is not None:
        return output | {"text": text}
    try:
        kept = context.keep(_safe_name(str(found["filename"])), content, str(found["mimeType"]))
    except RuntimeError as error:
        raise ToolError("not_kept", "nothing keeps files in this run") from error
    return output | {"path": kept.path}


def _find(resource: Json, wanted: str) -> Json:
    known = attachments_of(resource)
    for key in ("attachmentId", "filename"):
        for one in known:
            if one[key] == wanted:
                return one
    # Gmail returns another id for an attachment each time, and accepts the old ones too.
    return {"attachmentId": wanted, "filename": "attachment", "mimeType": ""}


def _fetch(mail: Mail, resource: Json, attachment_id: str) -> bytes:
    try:
        return mail.attachment(str(resource.get("id", "")), attachment_id)
    except ToolError as error:
        if error.code not in ("invalid_input", "not_found"):
            raise
        names = ", ".join(str(one["filename"]) for one in attachments_of(resource)) or "none"
        raise ToolError(
            "not_found",
            f"the message has no attachment {brief(attachment_id)}; it has: {names}",
        ) from error


def _text(mime: str, content: bytes) -> str | None:
    if not _TEXT.fullmatch(mime.lower()) or len(content) > _MOST_TEXT or b"\0" in content:
        return None
    return decode_bytes(content, "")


def _safe_name(name: str) -> str:
    """Return the name of the kept file: the sender's, if it is a plain one."""
    if _FILE_NAME.fullmatch(name):
        return name
    ending = _ENDING.search(name)
    return f"attachment{ending[0] if ending else '.bin'}"


_Count = Annotated[int, Field(ge=1, le=100)]
_Id = Annotated[str, Field(min_length=1, max_length=200)]
_People = str | list[str]
_TAINT = "mail of others"


def gmail_tools(office: Office, root: Root) -> tuple[Tool, ...]:
    """Return the mail tools of an office; attachments are files of the workspace `root`."""
    return (_list(office), _read(office), _send(office, root), _search(office))


def _list(office: Office) -> Tool:
    @tool(read_only=True, kind="source", body="labelIds", origin="builtin")
    def gmail_list(
        context: Context,
        maxResults: _Count = 10,
        labelIds: list[str] = [],  # noqa: B006 the schema shows it, and nothing changes it
        pageToken: str = "",
        includeSpamTrash: bool = False,
        full: bool = False,
    ) -> Json:
        """List mail, newest first: id, headers and the start of the text of each message.

        Args:
            maxResults: how many messages, at most 100
            labelIds: only messages with all of these labels, such as INBOX, UNREAD, SENT,
                STARRED, or a label's own name
            pageToken: the nextPageToken of the page before
            includeSpamTrash: whether messages in spam and trash are listed, too
            full: whole resources, as the Gmail API gives them
        """
        names = LabelNames(office.mail)
        labels = [names.id_of(label) for label in labelIds]
        page = office.mail.messages(
            query="",
            labels=labels,
            spam_trash=includeSpamTrash,
            limit=maxResults,
            page=pageToken,
        )
        return _listed(office, context, page, full)

    return gmail_list


def _search(office: Office) -> Tool:
    @tool(read_only=True, kind="source", origin="builtin")
    def gmail_search(
        query: str,
        context: Context,
        maxResults: _Count = 10,
        pageToken: str = "",
        full: bool = False,
    ) -> Json:
        """Search mail, as in Gmail's search box; the newest come first.

        Args:
            query: words and operators, such as from:ada subject:"the plan" has:attachment
                is:unread in:sent label:trips newer_than:7d before:2026/01/31 larger:5M;
                - is not, OR and {} are any of them
            maxResults: how many messages, at most 100
            pageToken: the nextPageToken of the page before
            full: whole resources, as the Gmail API gives them
        """
        read(query)  # a misspelt operator must not look like a search that found nothing
        page = office.mail.messages(
            query=query, labels=(), spam_trash=False, limit=maxResults, page=pageToken
        )
        return _listed(office, context, page, full)

    return gmail_search


def _read(office: Office) -> Tool:
    @tool(read_only=True, kind="source", origin="builtin")
    def gmail_read(
        messageId: _Id,
        context: Context,
        thread: bool = False,
        attachmentId: str = "",
        full: bool = False,
    ) -> Json:
        """Read a message: its headers, its text and which files hang on it.

        Args:
            messageId: the id of the message, from gmail_list or gmail_search
            thread: read all messages of its thread, oldest first
            attachmentId: get this file of the message instead: its attachmentId or filename
            full: whole resources, as the Gmail API gives them
        """
        context.taint(_TAINT)
        resource = office.mail.message(messageId)
        names = LabelNames(office.mail)
        if attachmentId:
            output = attachment_output(office.mail, resource, attachmentId, context)
        elif not thread:
            output = resource if full else shown_message(resource, names, context)
        else:
            whole = office.mail.thread(str(resource.get("threadId") or messageId))
            messages: list[Json] = whole.get("messages", [])
            shown = [shown_message(one, names, context) for one in messages]
            output = whole if full else {"id": whole.get("id", ""), "messages": shown}
        _tell_faults(office, context)
        return output

    return gmail_read


def _send(office: Office, root: Root) -> Tool:
    def preview(**given: Any) -> str:
        return preview_text(prepare(office, root, Outgoing(**given)))

    @tool(
        destructive=True,
        open_world=True,
        body="body",
        preview=preview,
        carries=lambda given: carried_paths(root, given),
        origin="builtin",
    )
    def gmail_send(  # noqa: PLR0913, PLR0917 each is a part of a mail
        to: _People,
        subject: str,
        body: str,
        context: Context,
        cc: _People = "",
        bcc: _People = "",
        html: str = "",
        attachments: list[PathText] = [],  # noqa: B006 the schema shows it, and nothing changes it
        replyTo: str = "",
        threadId: str = "",
    ) -> Json:
        """Send a mail.

        Args:
            to: who gets it, such as ada@example.org or Ada <ada@example.org>; several in a list
                or with commas between; "" with replyTo for the one who wrote that mail
            subject: one line; empty in an answer for that of the answered mail
            body: the text
            cc: who gets a copy
            bcc: who gets a copy that the others do not see
            html: the same text in HTML, sent beside the plain one
            attachments: files to send along: paths of the workspace such as reports/may.pdf, or
                files of the drive such as drive:ID
            replyTo: the id of the message that this one answers
            threadId: the thread to answer in, where no message is named
        """
        _require_readable(office, attachments, root, context)
        mail = prepare(
            office,
            root,
            Outgoing(
                to=to,
                subject=subject,
                body=body,
                cc=cc,
                bcc=bcc,
                html=html,
                attachments=attachments,
                replyTo=replyTo,
                threadId=threadId,
            ),
        )
        sent = office.mail.send(mail.raw, mail.thread_id)
        return {key: sent[key] for key in ("id", "threadId", "labelIds") if key in sent}

    return gmail_send


def _require_readable(office: Office, given: Iterable[str], root: Root, context: Context) -> None:
    """Refuse attachments that the policy does not let the call read: sending a file reads it."""
    # The real path is judged, after links and drive ids are resolved.
    for real in (path for one in given for path in real_paths(office, root, one)):
        refusal = context.path_refusal(real)
        if refusal is not None:
            raise ToolError("policy_denied", refusal)


def _listed(office: Office, context: Context, page: Page, full: bool) -> Json:
    tell_absent(office, context)
    context.taint(_TAINT)
    _tell_faults(office, context)
    output: Json = {
        "messages": page.items if full else shown_page(page.items, LabelNames(office.mail))
    }
    return output | {"nextPageToken": page.next} if page.next else output


def _tell_faults(office: Office, context: Context) -> None:
    """Add notices for files of a local office that were left out."""
    faults: list[str] = list(getattr(office.mail, "faults", ()))
    if faults:
        # Five names at most: a damaged mailbox must not fill the answer.
        named = "; ".join(brief(one, 120)[1:-1] for one in faults[:5])
        context.notice(
            "workspace_damaged",
            f"{len(faults)} files of the mail were left out: {named}",
            count=len(faults),
        )


# --- An outgoing mail: checked, composed, and shown to the person who approves it ---

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
    authors = _recipients(answered, "Reply-To") or _recipients(answered, "From")
    others = [one for one in authors if one.address.lower() != own.lower()]
    return others if others or not authors else _recipients(answered, "To")


def _recipients(answered: Json, header: str) -> list[Recipient]:
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
