"""Gmail, played: messages as they came, read with the standard library."""

from __future__ import annotations

import base64
import email
import email.policy
import email.utils
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import cached_property
from typing import Any

import msgspec

from callblocks.toolkits.office.mail_query import read
from support.google.state import Asked, Json, Method, Refused, State
from support.mail_matching import Facts, asks_for_hidden, finds

__all__ = ("add_label", "gmail_methods", "receive")

_SYSTEM = ("INBOX", "SENT", "DRAFT", "TRASH", "SPAM", "UNREAD", "STARRED", "IMPORTANT")


class _Held(msgspec.Struct, dict=True):
    id: str
    thread: str
    labels: list[str]
    raw: bytes

    @cached_property
    def mail(self) -> EmailMessage:
        return email.message_from_bytes(self.raw, policy=email.policy.default)

    @cached_property
    def date(self) -> int:
        return int(self.mail["Date"].datetime.timestamp() * 1000)


def gmail_methods(state: State) -> dict[str, Method]:
    """The methods that the tools use."""
    fake = _Fake(state)
    return {
        "gmail.users.getProfile": fake.profile,
        "gmail.users.labels.list": fake.labels,
        "gmail.users.messages.list": fake.list,
        "gmail.users.messages.get": fake.get,
        "gmail.users.messages.send": fake.send,
        "gmail.users.messages.attachments.get": fake.attachment,
        "gmail.users.threads.get": fake.thread,
    }


def add_label(state: State, name: str) -> str:
    """Make a label of the person's own, as Gmail does; its id."""
    labels: dict[str, str] = state.more.setdefault("labels", {})
    if name not in labels:
        labels[name] = f"Label_{len(labels) + 1}"
    return labels[name]


def receive(state: State, raw: bytes) -> str:
    """Let a mail arrive; `X-Gmail-Labels` says where, as in an exported mail."""
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    said = [one.strip() for one in str(mail.get("X-Gmail-Labels", "Inbox")).split(",")]
    labels = [_label(state, one) for one in said if one.upper() not in ("OPENED", "ARCHIVED")]
    if "Opened" not in said and "UNREAD" not in labels:
        labels.append("UNREAD")
    return _hold(state, raw, labels, "").id


def _label(state: State, name: str) -> str:
    return name.upper() if name.upper() in _SYSTEM else add_label(state, name)


def _hold(state: State, raw: bytes, labels: list[str], thread: str) -> _Held:
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    made = state.new_id()
    before = f"{mail['References'] or ''} {mail['In-Reply-To'] or ''}".split()
    held: list[_Held] = list(state.messages.values())
    known = [one.thread for one in held if one.mail["Message-ID"] in before]
    state.messages[made] = _Held(made, thread or next(iter(known), made), labels, raw)
    return state.messages[made]


class _Fake:
    def __init__(self, state: State) -> None:
        self.state = state

    def profile(self, _: Asked) -> Json:
        return {"emailAddress": self.state.owner, "messagesTotal": len(self.state.messages)}

    def labels(self, _: Asked) -> Json:
        own: dict[str, str] = self.state.more.get("labels", {})
        named = [(name, name, "system") for name in _SYSTEM]
        named += [(label_id, name, "user") for name, label_id in own.items()]
        return {"labels": [{"id": one, "name": name, "type": kind} for one, name, kind in named]}

    def list(self, asked: Asked) -> Json:
        query = asked.query
        known = {*_SYSTEM, *self.state.more.get("labels", {}).values()}
        wanted = set(query.get("labelIds", []))
        if wanted - known:
            raise Refused(400, "invalidArgument", f"Invalid label: {min(wanted - known)}")
        tree = read(query.get("q", ""))
        hidden = query.get("includeSpamTrash") or wanted & {"TRASH", "SPAM"}
        shown = hidden or asks_for_hidden(tree)
        held: list[_Held] = sorted(
            self.state.messages.values(), key=lambda one: (one.date, one.id), reverse=True
        )
        found = [
            one
            for one in held
            if wanted <= set(one.labels)
            and (shown or not {"TRASH", "SPAM"} & set(one.labels))
            and finds(tree, self._facts(one))
        ]
        return _page(found, query.get("pageToken", ""), query.get("maxResults", 100))

    def get(self, asked: Asked) -> Json:
        form = asked.query.get("format", "full")
        return _resource(self._held(asked.path["id"]), form, asked.query.get("metadataHeaders"))

    def thread(self, asked: Asked) -> Json:
        held: list[_Held] = [
            one for one in self.state.messages.values() if one.thread == asked.path["id"]
        ]
        if not held:
            raise Refused(404, "notFound", "Requested entity was not found.")
        ordered = sorted(held, key=lambda one: one.date)
        return {
            "id": asked.path["id"],
            "historyId": "1",
            "messages": [_resource(one, "full", None) for one in ordered],
        }

    def attachment(self, asked: Asked) -> Json:
        mail = self._held(asked.path["messageId"]).mail
        for part_id, part in _parts(mail, ""):
            if f"ANGjdJ{part_id}" == asked.path["id"]:
                content = _content(part)
                return {"size": len(content), "data": _base64(content)}
        raise Refused(400, "invalidArgument", "Invalid attachment token")

    def send(self, asked: Asked) -> Json:
        raw = asked.media
        if raw is None:
            raw = base64.urlsafe_b64decode(asked.body["raw"])
        mail = email.message_from_bytes(raw, policy=email.policy.default)
        fields = [str(mail[name]) for name in ("To", "Cc", "Bcc") if mail[name]]
        people = [address for _, address in email.utils.getaddresses(fields)]
        if not people:
            raise Refused(400, "invalidArgument", "Recipient address required")
        thread = asked.body.get("threadId", "")
        if thread and all(one.thread != thread for one in self.state.messages.values()):
            raise Refused(404, "notFound", "Requested entity was not found.")
        mine = self.state.owner in people
        now = email.utils.format_datetime(datetime.now(UTC))
        made = f"<{len(self.state.messages)}@mail.gmail.com>"
        head = f"From: {self.state.owner}\r\nDate: {now}\r\nMessage-ID: {made}\r\n"
        labels = ["SENT", "INBOX", "UNREAD"] if mine else ["SENT"]
        held = _hold(self.state, head.encode() + raw, labels, thread)
        return {"id": held.id, "threadId": held.thread, "labelIds": held.labels}

    def _held(self, message_id: str) -> _Held:
        held = self.state.messages.get(message_id)
        if held is None:
            raise Refused(404, "notFound", "Requested entity was not found.")
        return held

    def _facts(self, held: _Held) -> Facts:
        names = {one: name for name, one in self.state.more.get("labels", {}).items()}
        mail = held.mail
        files = [part.get_filename("") for _, part in _parts(mail, "")]
        heads = ("From", "To", "Cc", "Bcc", "Subject")
        body = mail.get_body(("plain", "html"))
        return Facts(
            texts={
                **{name.lower(): str(mail[name] or "") for name in heads},
                "body": body.get_content() if body else "",
                "filename": "\n".join(files),
            },
            labels=[names.get(one, one) for one in held.labels],
            date=held.date,
            size=len(held.raw),
            message_id=str(mail["Message-ID"] or ""),
            attachment=any(files),
            owner=self.state.owner,
        )


def _page(found: list[_Held], token: str, limit: int) -> Json:
    if token:
        after = [one.id for one in found]
        if token not in after:
            raise Refused(400, "invalidArgument", "Invalid pageToken")
        found = found[after.index(token) + 1 :]
    more = {"nextPageToken": found[limit - 1].id} if len(found) > limit else {}
    messages = [{"id": one.id, "threadId": one.thread} for one in found[:limit]]
    return {"resultSizeEstimate": len(found), **({"messages": messages} if found else {}), **more}


def _resource(held: _Held, form: str, headers: list[str] | None) -> Json:
    mail = held.mail
    payload = _part(mail, "")
    text = next((part["body"]["data"] for part in _flat(payload) if "data" in part["body"]), "")
    snippet = base64.urlsafe_b64decode(text).decode("utf-8", "replace")
    if form == "metadata":
        wanted = {name.lower() for name in headers or ()}
        kept = [one for one in payload["headers"] if one["name"].lower() in wanted]
        payload = {"mimeType": payload["mimeType"], "headers": kept}
    return {
        "id": held.id,
        "threadId": held.thread,
        "labelIds": held.labels,
        "snippet": " ".join(snippet.split())[:200].replace("'", "&#39;"),
        "historyId": "1",
        "internalDate": str(held.date),
        "sizeEstimate": len(held.raw),
        "payload": payload,
    }


def _flat(part: Json) -> list[Json]:
    return [part, *(below for one in part.get("parts", ()) for below in _flat(one))]


def _part(part: Any, part_id: str) -> Json:
    made: Json = {
        "partId": part_id,
        "mimeType": part.get_content_type(),
        "filename": part.get_filename(""),
        "headers": [{"name": name, "value": str(value)} for name, value in part.items()],
    }
    if part.get_content_maintype() == "multipart":
        below = [_part(one, _below(part_id, at)) for at, one in enumerate(part.iter_parts())]
        return made | {"body": {"size": 0}, "parts": below}
    content = _content(part)
    if made["filename"] or part.get_content_maintype() != "text":
        return made | {"body": {"attachmentId": f"ANGjdJ{part_id}", "size": len(content)}}
    return made | {"body": {"size": len(content), "data": _base64(content)}}


def _parts(part: Any, part_id: str) -> list[tuple[str, Any]]:
    if part.get_content_maintype() != "multipart":
        return [(part_id, part)]
    below = [_parts(one, _below(part_id, at)) for at, one in enumerate(part.iter_parts())]
    return [one for parts in below for one in parts]


def _below(part_id: str, at: int) -> str:
    return f"{part_id}.{at}" if part_id else str(at)


def _content(part: Any) -> bytes:
    return part.get_payload(decode=True) or b""


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode()
