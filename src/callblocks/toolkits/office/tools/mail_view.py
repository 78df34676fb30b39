"""Messages as shown to a model: trimmed, and with the names of labels.

Gmail gives a person's own labels ids such as `Label_12`; people know them by their names. Both are
accepted, and names are shown. The list of labels is requested only if one is not Gmail's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import Json, Mail
from callblocks.toolkits.office.mail_text import (
    attachments_of,
    decode_bytes,
    summary_of,
    text_of_mail,
)
from callblocks.tools.tool import Context

__all__ = (
    "LabelNames",
    "attachment_output",
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
