"""Outputs of tools, made safe to pass on: JSON values, out of their envelopes, and failures."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, cast

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.json_values import whole
from callblocks.core.outcomes import Failure, Notice, without_managed
from callblocks.core.redaction import redact, without_secrets
from callblocks.tools.check import said
from callblocks.tools.tool import Origin, Tool

__all__ = (
    "combine",
    "envelope",
    "safe_failure",
    "safe_notice",
    "safe_text",
    "to_json_value",
    "told",
    "unwrap",
    "words_of",
)

# --- Conversion of a tool's return value to a JSON value ---
#
# Dataclasses, structs, pydantic models, sets, dates, paths and the like become their usual JSON
# form; anything else becomes its text. A lone surrogate becomes U+FFFD.

_DEPTH = 200
_SAFE = (int, float, bool, type(None))
# The most bits of an integer; Python itself refuses to write more than 4300 digits.
_BITS = 14_000


def to_json_value(value: Any) -> Any:
    """Return the value as dicts, lists, strings, numbers, booleans and null."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, _SAFE) and not _is_huge(value):
        return value
    try:
        return _clean(msgspec.to_builtins(value, enc_hook=_known, str_keys=True), 0)
    except (RecursionError, TypeError, ValueError, UnicodeError) as error:
        kind = type(value).__name__
        raise ToolError("bad_output", f"the output, {kind}, cannot be written: {error}") from error


def _known(value: Any) -> Any:
    """Convert a value unknown to msgspec: a pydantic model to its fields, anything else to its
    text.
    """
    if isinstance(value, PurePath):
        return str(value)
    # By duck typing: pydantic may not be installed where this runs.
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    return str(value)


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return whole(value)
    if _is_huge(value):
        raise ValueError(f"an integer of {value.bit_length():,} bits")
    if depth > _DEPTH:
        raise ValueError(f"nested deeper than {_DEPTH}")
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {whole(key): _clean(item, depth + 1) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [_clean(item, depth + 1) for item in cast("list[Any]", value)]
    return value


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > _BITS


# --- The envelope in which a tool may answer: whether it went well, why not, and the output ---
#
#     {"ok": true,  "error": null, "ret": {"rows": 3}}
#     {"ok": false, "error": {"code": "no_table", "message": "…", "where": "db", "managed": true},
#      "ret": null}
#
#     builtin    an envelope is unwrapped: the output is always `ret`, also beside an error;
#                any other value is the output itself
#     function   the same, but only what has no other keys is taken for an envelope
#     external   must answer with `ok` and `error`; the output is what stands beside them, and
#                `ret` alone is unwrapped
#
# `ok` decides: an `error` beside `ok: true` was handled by the tool, and is dropped.

_KEYS = {"ok", "error", "ret"}
_MAX_CODE = 80
_MAX_MESSAGE = 4000


def unwrap(value: object, origin: Origin) -> tuple[Any, Failure | None]:
    """Return the output of a tool, and its failure if it reports one."""
    if origin == "external":
        return _unwrap_external(value)
    if not isinstance(value, dict):
        return value, None
    answer = cast("dict[str, Any]", value)
    if not _is_envelope(answer, origin):
        return answer, None
    return answer.get("ret"), _failure(answer)


def combine(execution: Failure | None, tool: Failure | None) -> Failure | None:
    """Combine two failures: that of the run comes first, and the tool's own is kept in it."""
    if execution is None or tool is None:
        return execution or tool
    return Failure(
        code=execution.code,
        message=f"{execution.message}; the tool said {tool.code}: {tool.message}",
        where=execution.where or tool.where,
        # Nothing is lost: the tool's own failure stays readable inside the one of the run.
        details={**execution.details, "tool_error": tool.payload()},
        managed=execution.managed and tool.managed,
    )


def envelope(output: object, failure: Failure | None) -> dict[str, Any]:
    """Return an output and a failure as an envelope; `unwrap` of a built-in is the inverse."""
    return {"ok": failure is None, "error": failure and _error(failure), "ret": output}


def _error(failure: Failure) -> dict[str, Any]:
    error = {
        "code": failure.code,
        "message": failure.message,
        "where": failure.where,
        "managed": failure.managed,
    }
    return {**error, "details": failure.details} if failure.details else error


# A function may return any dict of its own that happens to have `ok`, so for those the keys must
# match exactly; a built-in knows the convention.
def _is_envelope(answer: dict[str, Any], origin: Origin) -> bool:
    if not isinstance(answer.get("ok"), bool):
        return False
    return answer.keys() <= _KEYS or (
        origin == "builtin" and ("ret" in answer or "error" in answer)
    )


def _unwrap_external(given: object) -> tuple[Any, Failure | None]:
    value = cast("Any", given)
    answer = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    lacking = [key for key in ("ok", "error") if key not in answer]
    # A foreign tool must use the envelope. Guessing success from any other value would turn an
    # error page into an output.
    if lacking:
        return value, _bad(f"the tool answered without {_named(lacking)}")
    if not isinstance(answer["ok"], bool):
        return value, _bad(f"`ok` must be true or false, got {said(answer['ok'])}")
    if answer["ok"] and not isinstance(answer["error"], dict | None):
        return value, _bad(f"`error` must be null or an object, got {said(answer['error'])}")
    return _beside(answer), _failure(answer)


def _beside(answer: dict[str, Any]) -> Any:
    rest = {key: part for key, part in answer.items() if key not in ("ok", "error")}
    return rest.get("ret") if rest.keys() <= {"ret"} else rest


def _failure(answer: dict[str, Any]) -> Failure | None:
    if answer["ok"]:
        return None
    given = answer.get("error")
    error = cast("dict[str, Any]", given) if isinstance(given, dict) else {"message": given}
    details = error.get("details")
    return Failure(
        code=_text(error.get("code"), _MAX_CODE) or "tool_error",
        message=_text(error.get("message"), _MAX_MESSAGE) or "the tool failed, and did not say why",
        where=_text(error.get("where"), _MAX_CODE),
        details=cast("dict[str, Any]", details) if isinstance(details, dict) else {},
        managed=error.get("managed") is True,
    )


def _text(value: object, width: int) -> str:
    """Return a text up to a width; any other value as messages show it."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else said(value)
    return text if len(text) <= width else f"{text[:width]}…"


def _bad(what: str) -> Failure:
    return Failure(
        code="bad_envelope", message=f'{what}; it must give {{"ok": true, "error": null, …}}'
    )


def _named(keys: list[str]) -> str:
    return " and ".join(f"`{key}`" for key in keys)


# --- Failures and notices of tools made safe to pass on: without secrets, and of bounded length ---

_MESSAGE_LENGTH = 4_000


def told(tool: Tool, error: ToolError) -> Failure:
    """Return the failure that a tool raised."""
    return safe_failure(
        Failure(code=error.code, message=error.message, where=tool.name, details=error.details)
    )


def safe_failure(failure: Failure) -> Failure:
    """Return a failure without secrets, short enough for a model to read."""
    message = redact(safe_text(failure.message))
    if len(message) > _MESSAGE_LENGTH:
        message = f"{message[:_MESSAGE_LENGTH]}…"
    return msgspec.structs.replace(
        failure, code=safe_text(failure.code), message=message, details=_details(failure.details)
    )


def safe_notice(notice: Notice) -> Notice:
    """Return a notice without secrets."""
    return Notice(
        code=safe_text(notice.code),
        message=redact(safe_text(notice.message)),
        details=_details(notice.details),
    )


def safe_text(said: object) -> str:
    """Return a tool's value as text where text is expected; a tool may have passed any object."""
    return to_json_value(said if isinstance(said, str) else words_of(said))


def words_of(said: object) -> str:
    """Return `str(value)`; "" where that raises."""
    try:
        return str(said)
    except BaseException:  # a value of a tool may do anything when it is shown
        return ""


def _details(given: dict[str, Any]) -> dict[str, Any]:
    try:
        return without_secrets(without_managed(to_json_value(given)))
    except BaseException as error:  # a value of a tool may do anything when it is written
        return {"left_out": f"details that cannot be written: {safe_text(error)}"}
