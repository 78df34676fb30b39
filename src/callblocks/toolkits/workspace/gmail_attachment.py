"""An attachment of a message: its text, or a kept file."""

from __future__ import annotations

import re

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Mail
from callblocks.toolkits.workspace.mail_text import attachments_of, decode_bytes
from callblocks.tools.context import Context

__all__ = ("attachment_output",)

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
