"""The outcome of a call, read back from its blocks: the inverse of encode.py.

    digest with an error        the failure
    content, status             the output: its JSON value, or its text
    report                      what the code gave, or else the report itself
    digest of a file            an artifact; also the output, where there is no other

Only the first digest speaks for the call; a later one with an error is of a file that got lost.
`managed` is not read: blocks of other writers and of earlier versions may hold it at any depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from callblocks.core.blocks import Block
from callblocks.core.outcomes import Artifact, Failure, Notice, Outcome, without_managed
from callblocks.timeline.codec.call_stamp import ERROR_NOTICES

__all__ = ("outcome_of", "read_digest", "read_object")

_REPORT, _NO_ERROR = "Runtime error: ", "none"


def outcome_of(id: str, name: str, blocks: Sequence[Block]) -> Outcome:
    """Return the outcome of one call, read from its notices and results."""
    results = [block for block in blocks if block.type == "react.tool.result"]
    notices = [read_object(block) for block in blocks if block.type == "react.notice"]
    digests = [digest for block in results if (digest := read_digest(block)) is not None]
    main = digests[0] if digests else {}
    output, has_output = _output(results)
    error = _failure(main.get("error")) or _reported(results)
    if error is None and not has_output and not digests:
        error = _noticed(notices)
    if not has_output and error is None and digests:
        output = {key: value for key, value in main.items() if key != "tool_call_id"}
    return Outcome(
        id=id,
        name=name,
        output=output,
        error=error,
        artifacts=() if _is_status(results) else _artifacts(digests),
        notices=tuple(_notice(said) for said in notices if said.get("code") not in ERROR_NOTICES),
    )


def _output(results: Sequence[Block]) -> tuple[Any, bool]:
    """Return the output, and whether there is one; files are no output."""
    for block in results:
        if block.meta.get("role") == "digest" or block.path.startswith("fi:"):
            continue
        if "output" in block.meta:
            return block.meta["output"], True
        return _value(block), True
    return None, False


def _value(block: Block) -> Any:
    text = block.text or ""
    if block.mime != "application/json":
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return text  # it was too long for a block, and cut


def _failure(said: Any) -> Failure | None:
    if not isinstance(said, dict):
        return None
    error = cast("dict[str, Any]", said)
    details: Any = error.get("details")
    return Failure(
        code=str(error.get("code", "")),
        message=str(error.get("message", "")),
        where=str(error.get("where", "")),
        details=without_managed(details) if isinstance(details, dict) else {},
    )


def _reported(results: Sequence[Block]) -> Failure | None:
    """The error that the report of code begins with."""
    for block in results:
        line = (block.text or "").partition("\n")[0]
        if block.meta.get("role") == "report" and line.startswith(_REPORT):
            code, _, message = line.removeprefix(_REPORT).partition(" — ")
            return None if code == _NO_ERROR else Failure(code=code, message=message)
    return None


def _noticed(notices: Sequence[dict[str, Any]]) -> Failure | None:
    """A failure that only a notice tells of."""
    for said in notices:
        if said.get("code") in ERROR_NOTICES:
            words = {"code": said["code"], "message": said.get("message", "")}
            return _failure(said.get("error")) or _failure(words)
    return None


def _notice(said: dict[str, Any]) -> Notice:
    told = without_managed(said)
    details = {key: value for key, value in told.items() if key not in ("code", "message")}
    return Notice(
        code=str(said.get("code", "")), message=str(said.get("message", "")), details=details
    )


def _is_status(results: Sequence[Block]) -> bool:
    """Return whether the results begin with a status: their files are of other calls."""
    return bool(results) and results[0].meta.get("role") == "status"


def _artifacts(digests: Sequence[dict[str, Any]]) -> tuple[Artifact, ...]:
    return tuple(
        Artifact(
            path=digest["artifact_path"],
            size=size if type(size := digest.get("size_bytes")) is int else 0,
            digest=digest["sha256"],
            mime=str(digest.get("mime", "application/octet-stream")),
        )
        for digest in digests
        if digest["artifact_path"].startswith("fi:")
        and isinstance(digest.get("sha256"), str)
        and "error" not in digest
    )


def read_digest(block: Block) -> dict[str, Any] | None:
    """Return the fields of a digest; None if the block is no digest."""
    said = read_object(block) if block.meta.get("role") == "digest" else {}
    return said if isinstance(said.get("artifact_path"), str) else None


def read_object(block: Block) -> dict[str, Any]:
    """Return the JSON object that a block holds; an empty one if it holds none."""
    if block.mime != "application/json":
        return {}
    try:
        said = msgspec.json.decode(block.text or "")
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return {}
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}
