"""The body that a client posts: the person's last message, and their answers to approvals.

    {"id": "chat", "trigger": "submit-message", "messages": [… {"role": "user", "parts": […]}]}

A client posts its whole history. The rest of it is not trusted: earlier messages and calls are read
from the timeline.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import unquote_to_bytes

import msgspec

from callblocks.core.errors import CallerError
from callblocks.core.text import brief

__all__ = ("Posted", "PostedAnswer", "PostedFile", "read_posted")

_MAX_PARTS = 1000
_MAX_FILES = 50


class PostedFile(msgspec.Struct, frozen=True):
    """A file that the person gives; `mime` is what the client says it is."""

    name: str
    mime: str
    content: bytes


class PostedAnswer(msgspec.Struct, frozen=True):
    """The person's answer to an approval."""

    approval: str
    approved: bool
    reason: str = ""


class Posted(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is None where the person said nothing new; `trigger` is why the client posts."""

    chat: str = ""
    trigger: str = ""
    message_id: str = ""
    text: str | None = None
    files: tuple[PostedFile, ...] = ()
    answers: tuple[PostedAnswer, ...] = ()


def read_posted(body: object) -> Posted:
    """Read a body, as JSON or decoded; what is none raises `CallerError`."""
    said = _object(_decoded(body), "the body")
    messages = [
        _object(one, f"messages[{at}]")
        for at, one in enumerate(_list(said, "messages", "messages"))
    ]
    if not messages:
        raise CallerError("messages is empty: it ends with what the person says")
    last, place = messages[-1], f"messages[{len(messages) - 1}]"
    answers = tuple(_answers(messages))
    text, files = _prompt(last, place) if last.get("role") == "user" else (None, ())
    if text is None and not answers:
        raise CallerError("there is nothing to answer: the last message is not of the user")
    return Posted(
        chat=_text(said, "id"),
        trigger=_text(said, "trigger"),
        message_id=_text(said, "messageId"),
        text=text,
        files=files,
        answers=answers,
    )


def _prompt(message: dict[str, Any], place: str) -> tuple[str, tuple[PostedFile, ...]]:
    where = f"{place}.parts"
    given = _list(message, "parts", where, ' such as [{"type": "text", "text": "Hello"}]')
    parts = [_object(part, f"{where}[{at}]") for at, part in enumerate(given)]
    _check_count(len(parts), _MAX_PARTS, "parts")
    _check_count(sum(map(_is_file, parts)), _MAX_FILES, "files")
    text = "\n\n".join(_text(part, "text") for part in parts if part.get("type") == "text")
    files = tuple(_file(part, at) for at, part in enumerate(parts, 1) if _is_file(part))
    if not text.strip() and not files:
        raise CallerError("the last message says nothing: give it a text part, or a file")
    return text, files


def _check_count(count: int, limit: int, what: str) -> None:
    if count > limit:
        raise CallerError(f"the last message has {count} {what}; send at most {limit} at once")


def _is_file(part: dict[str, Any]) -> bool:
    return part.get("type") == "file"


def _file(part: dict[str, Any], at: int) -> PostedFile:
    url = _text(part, "url")
    name = _text(part, "filename") or f"file-{at}"
    head, comma, content = url.removeprefix("data:").partition(",")
    if not url.startswith("data:") or not comma:
        raise CallerError(f"the file {brief(name)} has no data: URL; send its content in one")
    mime, *settings = head.split(";")
    try:
        raw = content.encode("ascii")
        is_base64 = settings[-1:] == ["base64"]
        read = b64decode(raw, validate=True) if is_base64 else unquote_to_bytes(raw)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise CallerError(f"the file {brief(name)} cannot be read: {error}") from None
    return PostedFile(name, _text(part, "mediaType") or mime, read)


def _answers(messages: Sequence[dict[str, Any]]) -> list[PostedAnswer]:
    """The answers in all messages: the one that asked need not be the last."""
    found: dict[str, PostedAnswer] = {}
    for message in messages:
        parts: Any = message.get("parts") if message.get("role") == "assistant" else None
        for part in cast("list[Any]", parts) if isinstance(parts, list) else ():
            if isinstance(part, dict):
                found |= _answer(cast("dict[str, Any]", part))
    return list(found.values())


def _answer(part: dict[str, Any]) -> dict[str, PostedAnswer]:
    """The answer that a part holds; one that was used up has another state."""
    said: Any = part.get("approval")
    if part.get("state") != "approval-responded" or not isinstance(said, dict):
        return {}
    approval = cast("dict[str, Any]", said)
    id, approved = approval.get("id"), approval.get("approved")
    if not isinstance(id, str) or not isinstance(approved, bool):
        words = "an approval that is answered has an id, and `approved` true or false"
        raise CallerError(f"{words}, not {brief(approval)}")
    reason = approval.get("reason")
    return {id: PostedAnswer(id, approved, reason if isinstance(reason, str) else "")}


def _decoded(body: object) -> object:
    if not isinstance(body, bytes | bytearray | str):
        return body
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise CallerError(f"the body is no JSON: {error}") from None


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CallerError(f"{what} is a JSON object, not {brief(value)}")
    return cast("dict[str, Any]", value)


def _list(said: dict[str, Any], key: str, where: str, such: str = "") -> list[Any]:
    value: Any = said.get(key)
    if value is None:
        raise CallerError(f"{where} is missing: it is a list{such}")
    if not isinstance(value, list):
        raise CallerError(f"{where} is a list{such}, not {brief(cast('object', value))}")
    return cast("list[Any]", value)


def _text(said: dict[str, Any], key: str) -> str:
    """A text that may be missing."""
    value = said.get(key)
    if value is not None and not isinstance(value, str):
        raise CallerError(f"{key} is a text, not {brief(cast('object', value))}")
    return value or ""
