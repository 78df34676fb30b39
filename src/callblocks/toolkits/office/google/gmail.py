"""Gmail."""

# The client library has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import Json, Page
from callblocks.toolkits.office.google.google_service import Service
from callblocks.toolkits.office.mail_text import HEADERS

__all__ = ("GoogleMail",)

# Size limit in bytes of a message sent within JSON; larger ones are uploaded as media.
_IN_JSON = 2_000_000


class GoogleMail:
    """The mail of an account."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def address(self) -> str:
        """Return the address of the account."""
        profile = self._service.call(lambda api: api.users().getProfile(userId="me"))
        return str(profile.get("emailAddress", ""))

    def labels(self) -> list[Json]:
        """Return the labels of the account, Gmail's own and the person's."""
        found = self._service.call(lambda api: api.users().labels().list(userId="me"))
        return found.get("labels", [])

    def messages(
        self, *, query: str, labels: Sequence[str], spam_trash: bool, limit: int, page: str
    ) -> Page:
        """List messages: Gmail returns ids only, and each message is then requested by itself."""
        given = {"q": query, "labelIds": list(labels), "pageToken": page}
        wanted = {name: value for name, value in given.items() if value}
        found = self._service.call(
            lambda api: (
                api.users()
                .messages()
                .list(userId="me", maxResults=limit, includeSpamTrash=spam_trash, **wanted)
            )
        )
        ids = [str(one["id"]) for one in found.get("messages", [])]
        return Page(self._listed(ids), str(found.get("nextPageToken", "")))

    def message(self, message_id: str) -> Json:
        """Return one message with its parts."""
        return self._service.call(
            lambda api: api.users().messages().get(userId="me", id=message_id, format="full")
        )

    def thread(self, thread_id: str) -> Json:
        """Return a thread with its messages."""
        return self._service.call(
            lambda api: api.users().threads().get(userId="me", id=thread_id, format="full")
        )

    def attachment(self, message_id: str, attachment_id: str) -> bytes:
        """Return the content of an attachment."""
        found = self._service.call(
            lambda api: (
                api.users()
                .messages()
                .attachments()
                .get(userId="me", messageId=message_id, id=attachment_id)
            )
        )
        text = str(found.get("data", ""))
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    def send(self, raw: bytes, thread_id: str) -> Json:
        """Send a message; Gmail adds the sender and the date."""
        body: Json = {"threadId": thread_id} if thread_id else {}
        if len(raw) > _IN_JSON:
            media = {"media_body": _upload(raw)}
        else:
            body["raw"] = base64.urlsafe_b64encode(raw).decode()
            media = {}
        # `send` is a POST and is repeated only if nothing was sent: a mail must not arrive twice.
        return self._service.call(
            lambda api: api.users().messages().send(userId="me", body=body, **media)
        )

    def _listed(self, ids: Sequence[str]) -> list[Json]:
        asks = [_ask_listed(one) for one in ids]
        try:
            return self._service.calls(asks)
        except ToolError as error:
            if error.code != "not_found":
                raise
        # A message was deleted after it was listed. Ask one by one and leave it out.
        return [found for ask in asks if (found := self._if_there(ask)) is not None]

    def _if_there(self, ask: Callable[[Any], Any]) -> Json | None:
        try:
            return self._service.call(ask)
        except ToolError as error:
            if error.code != "not_found":
                raise
            return None


def _ask_listed(message_id: str) -> Callable[[Any], Any]:
    return lambda api: (
        api.users()
        .messages()
        .get(userId="me", id=message_id, format="metadata", metadataHeaders=list(HEADERS))
    )


def _upload(raw: bytes) -> Any:
    from googleapiclient.http import MediaInMemoryUpload

    return MediaInMemoryUpload(raw, mimetype="message/rfc822")
