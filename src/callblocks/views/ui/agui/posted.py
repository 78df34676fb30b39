"""The body that an AG-UI client posts: the person's last message, or answers to interrupts.

    {"threadId": "trip", "runId": "run-1", "messages": [… {"role": "user", "content": "Hello"}]}
    {"threadId": "trip", "runId": "run-2", "messages": […],
     "resume": [{"interruptId": "a1b2", "status": "resolved", "payload": {"approved": true}}]}

A client posts its whole history, its state and its tools. They are not trusted: what was said is on
the timeline, and the tools are ours.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Any, cast

import msgspec

from callblocks.core.errors import CallerError
from callblocks.core.text import brief
from callblocks.views.ui.ai_sdk.messages import PostedAnswer, PostedFile

__all__ = ("PostedRun", "read_run")

_MAX_PARTS = 1000
_MAX_FILES = 50
_MAX_ANSWERS = 1000
_TEXT, _FILES = "text", ("image", "audio", "video", "document")


class PostedRun(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is None where the run goes on with answers; `run` names it to the client."""

    thread: str
    run: str
    text: str | None = None
    files: tuple[PostedFile, ...] = ()
    answers: tuple[PostedAnswer, ...] = ()


def read_run(body: dict[str, Any]) -> PostedRun:
    """Read a body; what is none raises `CallerError`."""
    thread, run = _text(body, "threadId"), _text(body, "runId")
    if answers := _answers(body.get("resume")):
        return PostedRun(thread=thread, run=run, answers=answers)
    messages = _list(body, "messages")
    last: Any = messages[-1] if messages else None
    if not isinstance(last, dict) or cast("dict[str, Any]", last).get("role") != "user":
        raise CallerError("there is nothing to answer: the last message is not of the user")
    text, files = _said(cast("dict[str, Any]", last).get("content"))
    if not text.strip() and not files:
        raise CallerError("the last message says nothing: give it a text, or a file")
    return PostedRun(thread=thread, run=run, text=text, files=files)


def _said(content: object) -> tuple[str, tuple[PostedFile, ...]]:
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        raise CallerError("the content of the last message is a text, or a list of parts")
    given = cast("list[Any]", content)
    parts: list[dict[str, Any]] = [one for one in given if isinstance(one, dict)]
    if len(parts) > _MAX_PARTS:
        raise CallerError(f"the last message has {len(parts)} parts; send at most {_MAX_PARTS}")
    texts = [_text(part, "text") for part in parts if part.get("type") == _TEXT]
    kept = [part for part in parts if part.get("type") in _FILES]
    if len(kept) > _MAX_FILES:
        raise CallerError(f"the last message has {len(kept)} files; send at most {_MAX_FILES}")
    return "\n\n".join(texts), tuple(_file(part, at) for at, part in enumerate(kept, 1))


def _file(part: dict[str, Any], at: int) -> PostedFile:
    given: Any = part.get("source")
    source = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    mime, value = source.get("mimeType"), source.get("value")
    name: Any = part.get("filename") or part.get("id") or f"file-{at}"
    if source.get("type") != "data" or not isinstance(value, str) or not isinstance(mime, str):
        raise CallerError(f"the file {brief(name)} has no data; an address is not fetched")
    try:
        return PostedFile(str(name), mime, b64decode(value, validate=True))
    except (binascii.Error, ValueError) as error:
        raise CallerError(f"the file {brief(name)} cannot be read: {error}") from None


def _answers(resume: object) -> tuple[PostedAnswer, ...]:
    """Return the answers to interrupts; one that was cancelled is a no."""
    if resume is None:
        return ()
    if not isinstance(resume, list) or len(cast("list[Any]", resume)) > _MAX_ANSWERS:
        raise CallerError("`resume` is a list of answers")
    found: dict[str, PostedAnswer] = {}
    for one in cast("list[Any]", resume):
        entry = cast("dict[str, Any]", one) if isinstance(one, dict) else dict[str, Any]()
        id, status = entry.get("interruptId"), entry.get("status")
        if not isinstance(id, str) or status not in ("resolved", "cancelled"):
            raise CallerError(f"an answer has an interruptId and a status, not {brief(entry)}")
        found[id] = _answer(id, status, entry.get("payload"))
    return tuple(found.values())


def _answer(id: str, status: str, payload: object) -> PostedAnswer:
    if status == "cancelled":
        return PostedAnswer(id, approved=False)
    said = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
    approved = payload if isinstance(payload, bool) else said.get("approved")
    if not isinstance(approved, bool):
        raise CallerError('the payload of an answer is {"approved": true} or {"approved": false}')
    reason = said.get("reason")
    return PostedAnswer(id, approved, reason if isinstance(reason, str) else "")


def _text(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise CallerError(f"`{key}` is a text, not {brief(value)}")
    return value


def _list(given: dict[str, Any], key: str) -> list[Any]:
    value = given.get(key)
    if not isinstance(value, list):
        raise CallerError(f"`{key}` is a list, not {brief(value)}")
    return cast("list[Any]", value)
