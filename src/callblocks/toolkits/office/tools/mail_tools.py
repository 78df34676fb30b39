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

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.root import Root
from callblocks.toolkits.file_tools import PathText
from callblocks.toolkits.office.backend import Json, Mail, Office, Page
from callblocks.toolkits.office.mail_query import read
from callblocks.toolkits.office.mail_text import (
    attachments_of,
    decode_bytes,
    summary_of,
    text_of_mail,
)
from callblocks.toolkits.office.tools.drive_view import tell_absent
from callblocks.toolkits.office.tools.mail_outgoing import (
    Outgoing,
    carried_paths,
    prepare,
    preview_text,
    real_paths,
)
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

__all__ = (
    "LabelNames",
    "attachment_output",
    "gmail_tools",
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
