"""A stamp: what all blocks of one call have in common, that is turn, call, tool and time.

    stamp = Stamp("turn_1", "abc", "react.write", "2030-01-31T12:00:00Z")
    stamp.block("react.tool.result", path=stamp.path("result"), text="…")

`meta.role` distinguishes the results of a call, which may share a path: `digest`, `content`,
`status` (of `react.read`) or `report` (of code).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.core.blocks import Author, Block, Type
from callblocks.core.json_values import json_text, plain, whole
from callblocks.core.outcomes import Failure, Notice, without_managed
from callblocks.core.paths import CALL_PATH, CodePath, Part
from callblocks.core.redaction import redact, without_secrets

__all__ = (
    "CALL_ERRORS",
    "ERROR_NOTICES",
    "JSON",
    "MOST",
    "NOT_RUN",
    "ROOM",
    "TEXT",
    "TRUNCATED",
    "Role",
    "Stamp",
    "cut",
    "error_notice",
    "error_payload",
    "fits",
    "fits_base64",
    "notice_blocks",
    "notice_of_failure",
    "shown",
    "with_meta",
)

JSON = "application/json"
Role: TypeAlias = Literal["digest", "content", "status", "report"]


class Stamp(msgspec.Struct, frozen=True):
    """The owner of blocks; `call` is the id as paths write it, `ts` is ISO 8601 with a Z.

    `turns` are those of the timeline, by which a path of another turn is recognized.
    """

    turn: str
    call: str
    tool: str
    ts: str
    turns: Collection[str] = ()

    def path(self, part: Part) -> str:
        """Return the path of the call, its notices or its result."""
        return CALL_PATH.format(turn=self.turn, call=self.call, part=part)

    @property
    def code_path(self) -> str:
        """Return the path of the code that the call runs."""
        return str(CodePath(self.turn, self.call))

    def block(
        self,
        type: Type,
        *,
        path: str = "",
        mime: str = "text/plain",
        text: str | None = None,
        base64: str | None = None,
        meta: Mapping[str, Any] | None = None,
        author: Author = "tool",
    ) -> Block:
        """Return a block of this call."""
        return Block(
            type=type,
            author=author,
            turn_id=self.turn,
            ts=self.ts,
            mime=mime,
            path=path,
            call_id=self.call,
            tool_id=self.tool,
            text=text if text is None or text.isascii() else whole(text),
            base64=base64,
            meta=dict(meta or {}),
        )

    def result(
        self, role: Role, text: str | None, *, mime: str = JSON, path: str = "", **meta: Any
    ) -> Block:
        """Return a result of this call, at its own path unless another is given."""
        return self.block(
            "react.tool.result",
            path=path or self.path("result"),
            mime=mime,
            text=text,
            meta={"role": role, **meta},
        )


def with_meta(block: Block, meta: Mapping[str, Any]) -> Block:
    """Return the block with more in its meta; empty fields are left out."""
    said = {name: value for name, value in meta.items() if value}
    return msgspec.structs.replace(block, meta={**block.meta, **said}) if said else block


# --- Texts for blocks: without secrets, cut to a size, never inside a character ---
#
# A store takes blocks up to a limit; larger content is kept as an artifact, and the block says so.

# The most bytes, as a store encodes them, of the text of one block; other fields need little.
ROOM = 12 * 2**20

# The most bytes shown of a result: such a text fits, however it is encoded.
TEXT = 1_000_000

# The mark where a text was cut.
TRUNCATED = "...[truncated]"

# A secret that begins this far before the cut is still recognized, though its end is missing.
_MARGIN = 512


def fits(text: str) -> bool:
    """Return whether a block can hold the text; in JSON a control character takes six bytes."""
    return len(text) * 6 <= ROOM or len(msgspec.json.encode(text)) <= ROOM


def fits_base64(size: int) -> bool:
    """Return whether a block can hold so many bytes as base64."""
    return (size + 2) // 3 * 4 <= ROOM


def cut(text: str, size: int) -> str:
    """Return the text, or its first `size` bytes as UTF-8 and a mark that there was more."""
    start = _start(text, size)
    return text if len(start) == len(text) else start + TRUNCATED


def shown(text: str, size: int = TEXT) -> str:
    """Return the text without secrets, cut like this; the rest is not scanned."""
    # Redacted with a margin beyond the cut, which is removed afterwards: a secret that the cut
    # would split is still recognized as a whole.
    window = text[: size + _MARGIN]
    safe = redact(window)
    if len(window) == len(text):
        return cut(safe, size)
    return _start(safe[:-_MARGIN], size) + TRUNCATED


def _start(text: str, size: int) -> str:
    if len(text) * 4 <= size:
        return text
    content = text[:size].encode(errors="replace")
    return text[:size] if len(content) <= size else content[:size].decode(errors="ignore")


# --- Notices: facts about a call for the model beside its results ---
#
#     {"code":"protocol_violation.path_rewritten","message":"…","original":"…","normalized":"…"}
#     {"code":"tool_result_error","message":"…","error":{"code":"…","message":"…","where":"…"}}
#
# A failure gives one of two notices:
#
#     tool_call_error     the call did not run, or its run broke: the codes of `CALL_ERRORS`
#     tool_result_error   the tool answered, and its answer is an error or holds no good file:
#                         every other code, so also those that tools make up
#
# Errors of code stand in its report, and give neither. Of one call `MOST` notices are written,
# those of failures before others, and then the number of the rest.

# The codes of failures which mean that a call did not run.
NOT_RUN = frozenset(
    (
        "unknown_tool",
        "not_runnable",
        "invalid_input",
        "unended_call",
        "policy_off",
        "policy_denied",
        "approval_required",
        "approval_denied",
        "approval_expired",
        "approval_revoked",
        "approval_mismatch",
        "not_kept",
        "sandbox_unavailable",
        "sandbox_failed",
    )
)

# The codes of failures which mean that a call did not run, or that its run broke.
CALL_ERRORS = NOT_RUN | {"tool_error", "tool_died", "timeout", "cancelled", "indeterminate"}

ERROR_NOTICES = ("tool_call_error", "tool_result_error")

# The most notices of one call.
MOST = 50

_CODE = 100
_MESSAGE = 4_000
_DETAILS = 100_000


def error_notice(code: str) -> Literal["tool_call_error", "tool_result_error"]:
    """Return the notice for a failure with this code."""
    return "tool_call_error" if code in CALL_ERRORS else "tool_result_error"


def notice_of_failure(stamp: Stamp, failure: Failure) -> Notice:
    """Return the notice of a failure."""
    payload = error_payload(stamp, failure)
    return Notice(
        code=error_notice(failure.code), message=payload["message"], details={"error": payload}
    )


def error_payload(stamp: Stamp, failure: Failure) -> dict[str, Any]:
    """Return `{code, message, where, details?}` without secrets, short enough for a model.

    A failure without a place occurred in the tool.
    """
    payload: dict[str, Any] = {
        "code": _said(failure.code, _CODE),
        "message": _said(failure.message),
        "where": _said(failure.where or stamp.tool or stamp.path("call")),
    }
    if failure.details:
        payload["details"] = _details(failure.details)
    return payload


def notice_blocks(stamp: Stamp, notices: Iterable[Notice]) -> list[Block]:
    """Return a block for each distinct notice."""
    texts = _few({_text(notice): notice.code for notice in notices})
    return [
        stamp.block(
            "react.notice", path=stamp.path("notice"), mime=JSON, text=text, author="timeline"
        )
        for text in texts
    ]


def _few(texts: dict[str, str]) -> list[str]:
    """Return at most so many texts in their order, by their codes."""
    if len(texts) <= MOST:
        return list(texts)
    # A stable sort: failures first, otherwise the order in which they came.
    first = sorted(texts, key=lambda text: texts[text] not in ERROR_NOTICES)[:MOST]
    told, more = set(first), len(texts) - MOST
    rest = Notice(code="more_notices", message=f"{more} more notices of this call are not told")
    return [*(text for text in texts if text in told), _text(rest)]


def _text(notice: Notice) -> str:
    said = {"code": _said(notice.code, _CODE), "message": _said(notice.message)}
    details = _details(notice.details)
    # A detail may have the name of a field that exists already.
    beside = {"details": details} if said.keys() & details.keys() else details
    return json_text({**said, **beside})


def _said(text: str, size: int = _MESSAGE) -> str:
    return shown(whole(text), size)


def _details(details: dict[str, Any]) -> dict[str, Any]:
    given = without_managed(plain(details))
    if len(json_text(given)) > _DETAILS:
        return {"left_out": "details that are too large to show"}
    return without_secrets(given)
