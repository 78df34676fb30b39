"""The tools for mail.

    gmail_list     maxResults, labelIds                newest first, with headers and snippet
    gmail_read     messageId, thread, attachmentId     a message, its thread, or a file in it
    gmail_send     to, subject, body, cc, replyTo …    shown in full before it is approved
    gmail_search   query, maxResults                   in the syntax of Gmail's search box

Mail is text of others: reading it taints the turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.guard.files.root import Root
from callblocks.toolkits.file_tools import PathText
from callblocks.toolkits.office.backend import Json, Office, Page
from callblocks.toolkits.office.mail_query import read
from callblocks.toolkits.office.tools.drive_view import tell_absent
from callblocks.toolkits.office.tools.mail_outgoing import (
    Outgoing,
    carried_paths,
    prepare,
    preview_text,
    real_paths,
)
from callblocks.toolkits.office.tools.mail_view import (
    LabelNames,
    attachment_output,
    shown_message,
    shown_page,
)
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool

__all__ = ("gmail_tools",)

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
