"""A call as blocks: the stamp that all of them share, the code that it runs, and the call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.core.blocks import Author, Block, Type
from callblocks.core.calls import Call, CheckedCall, ResultKind
from callblocks.core.errors import BadPath
from callblocks.core.json_values import json_text, plain, whole
from callblocks.core.outcomes import Artifact, Failure, Notice, without_managed
from callblocks.core.paths import CALL_PATH, NOTES_PATH, CodePath, Part, written_path
from callblocks.core.redaction import redact, redact_start, without_secrets
from callblocks.tools.tool import Keep

__all__ = (
    "CALL_ERRORS",
    "ERROR_NOTICES",
    "JSON",
    "MOST",
    "NOT_RUN",
    "ROOM",
    "SHAPES",
    "TEXT",
    "TRUNCATED",
    "Role",
    "Shape",
    "Stamp",
    "as_run",
    "call_blocks",
    "checked_of",
    "code_of",
    "cut",
    "error_notice",
    "error_payload",
    "fits",
    "fits_base64",
    "has_code_elsewhere",
    "input_digest",
    "is_whole",
    "notice_blocks",
    "notice_of_failure",
    "params_of",
    "result_kind",
    "shape_of",
    "shown",
    "with_meta",
)

# --- A stamp: what all blocks of one call have in common, that is turn, call, tool and time ---
#
#     stamp = Stamp("turn_1", "abc", "react.write", "2030-01-31T12:00:00Z")
#     stamp.block("react.tool.result", path=stamp.path("result"), text="…")
#
# `meta.role` distinguishes the results of a call, which may share a path: `digest`, `content`,
# `status` (of `react.read`) or `report` (of code).

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
    def notes_path(self) -> str:
        """Return the path of the model's text before the call."""
        return NOTES_PATH.format(turn=self.turn, call=self.call)

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


# --- The shape of a tool's blocks, by the kind of its result ---
#
#     write      digest, content                            react.write
#     rendering  digest, and PDF or image                   rendering_tools.write_*
#     exec       report, digest and content of each file    exec_tools.execute_code_*
#     read       status, then what it brought               react.read
#     hide       digest, content, and the record            react.hide
#     search     digest, rows of the sources pool           web_tools.web_search
#     fetch      digest, pages by URL                       web_tools.web_fetch
#     plain      digest, content                            any other
#
# A tool declares it itself (`@tool(result="search")`), and the checked call has that. Without a
# declaration, and for an unchecked call, the name decides.

Shape: TypeAlias = ResultKind

# Names and patterns; the first match counts.
SHAPES: dict[str, Shape] = {
    "react.write": "write",
    "react.read": "read",
    "react.hide": "hide",
    "rendering_tools.write_*": "rendering",
    "exec_tools.execute_code_*": "exec",
    "web_tools.web_search": "search",
    "web_tools.web_fetch": "fetch",
}


# Precedence: the caller's table, the tool's own declaration, the name, `plain`.
def shape_of(
    tool: str, shapes: Mapping[str, Shape] | None = None, checked: CheckedCall | None = None
) -> Shape:
    """Return the shape of a tool's results; an entry of `shapes` for its name has precedence."""
    name = tool if checked is None else checked.name
    said = None if checked is None else checked.result
    return _by_name(name, shapes or {}) or said or _by_name(name, SHAPES) or "plain"


def _by_name(tool: str, shapes: Mapping[str, Shape]) -> Shape | None:
    return next((shape for pattern, shape in shapes.items() if fnmatchcase(tool, pattern)), None)


# --- A call on the timeline: the code that it runs, where it runs code, then the call ---
#
#   {"tool_id":"react.write","tool_call_id":"abc","params":{"path":"a.md","content":"# A… "},"ts":…}
#
# - Content that stands elsewhere on the timeline is not repeated: of the content of `react.write`,
#   and of code, at most 100 characters stay, then `... [see fi:…]`. All other parameters stay
#   whole, because the call is the record. Only where a block cannot hold them are long ones kept
#   as artifacts.
# - Secrets are masked.
# - The parameters are those that the model wrote, in its own types: it is shown what it wrote, and
# a
#   call that is run again after a restart is checked again, with the same outcome.
# - Code, and the path of a file, are read from the checked call, as all of the results are.
# - `meta.input` distinguishes calls with the same id: a digest of tool and input. `meta.is_partial`
#   marks an incomplete input; `meta.runs` and `meta.result` name the tool that runs and the kind of
#   its result, where the written name does not.

# Characters that stay of a parameter which stands elsewhere.
_START = 100

# Characters from which a parameter is kept as an artifact, where the block is too large.
_LONG = 10_000

_CODE_MIMES = {
    "bash": "text/x-sh",
    "javascript": "text/javascript",
    "python": "text/x-python",
    "shell": "text/x-sh",
}


def call_blocks(
    stamp: Stamp,
    call: Call,
    shape: Shape,
    keep: Keep | None = None,
    checked: CheckedCall | None = None,
) -> list[Block]:
    """Return the code block of an exec call, and the call block. `checked` is the call as it will
    run.
    """
    ran = as_run(call, checked)
    code = code_of(ran) if shape == "exec" else None
    blocks = [] if code is None else [_code_block(stamp, ran.name, code)]
    elsewhere, payload = _elsewhere(stamp, call, shape, ran), _payload(stamp)
    masked = without_secrets(plain(call.input))
    named = json_text([call.name, masked])
    params = masked
    if elsewhere:
        # Masked anew without them: a mask may depend on the values beside it.
        given = {**call.input, **dict.fromkeys(elsewhere)}
        params = {**without_secrets(plain(given)), **elsewhere}
    kept: list[Artifact] = []
    text = json_text({**payload, "params": params})
    # Only as a last resort: the call is the record, and a resumed turn needs its whole input.
    if not fits(text):
        text = json_text({**payload, "params": _smaller(stamp, params, keep, kept)})
    meta: dict[str, Any] = {"input": _sha256(named)}
    if call.id != stamp.call:
        meta["id"] = plain(call.id)
    if checked is not None:
        meta |= _said_of(call, shape, checked)
    if kept or params != call.input:
        meta["is_partial"] = True
    if kept:
        meta["artifacts"] = [{"path": one.path, "digest": one.digest} for one in kept]
    call_block = stamp.block(
        "react.tool.call",
        path=stamp.path("call"),
        mime=JSON,
        text=text,
        meta=meta,
        author="assistant",
    )
    return [*blocks, call_block]


def as_run(call: Call, checked: CheckedCall | None) -> Call:
    """Return the call with the tool and the input that it runs with, as far as these are known."""
    if checked is None:
        return call
    return msgspec.structs.replace(call, name=checked.name, input=checked.input)


def checked_of(block: Block) -> CheckedCall:
    """Return the call of a block as it runs, as far as the block says it."""
    name = block.meta.get("runs")
    return CheckedCall(
        name=name if isinstance(name, str) else block.tool_id,
        input=params_of(block),
        result=_said_kind(block),
    )


def result_kind(block: Block) -> ResultKind:
    """Return the kind of results of a call, by its block: what that says, else its name."""
    return _said_kind(block) or shape_of(block.tool_id)


def _said_kind(block: Block) -> ResultKind | None:
    try:
        return msgspec.convert(block.meta.get("result"), ResultKind | None)
    except msgspec.ValidationError:
        return None


def input_digest(call: Call) -> str:
    """Return a digest that only the same call has: of its tool, and its input without secrets.

    A secret that occurs in nothing but a digest could be guessed from it.
    """
    return _sha256(json_text([call.name, without_secrets(plain(call.input))]))


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def params_of(block: Block) -> dict[str, Any]:
    """Return the parameters in a call block; none where it cannot be read."""
    try:
        said = msgspec.json.decode(block.text or "{}")
        return msgspec.convert(said["params"], dict[str, Any])
    except (msgspec.MsgspecError, KeyError, TypeError):
        return {}


def is_whole(block: Block) -> bool:
    """Return whether a call block has all of its input: nothing was cut or masked."""
    if block.meta.get("is_partial"):
        return False
    call = Call(id=block.call_id, name=block.tool_id, input=params_of(block))
    return block.meta.get("input") == input_digest(call)


def has_code_elsewhere(block: Block) -> bool:
    """Return whether the parameter `code` of a call block is the start of its code block.

    A call that stands for another has a code block, too, but its parameters are whole.
    """
    return "runs" not in block.meta and "code" in params_of(block)


def code_of(call: Call) -> str | None:
    """Return the code that an exec call runs: its parameter `code`."""
    code = call.input.get("code")
    return code if isinstance(code, str) and code.strip() else None


def _said_of(call: Call, shape: Shape, checked: CheckedCall) -> dict[str, Any]:
    """Return the meta of a call block about the call that runs, where its name does not tell."""
    runs = {} if checked.name == call.name else {"runs": plain(checked.name)}
    return runs if shape == shape_of(call.name) else {**runs, "result": shape}


def _code_block(stamp: Stamp, tool: str, code: str) -> Block:
    language = tool.rpartition("_")[2]
    return stamp.block(
        "react.tool.code",
        path=stamp.code_path,
        mime=_CODE_MIMES.get(language, "text/plain"),
        text=shown(code),
        author="assistant",
    )


def _elsewhere(stamp: Stamp, call: Call, shape: Shape, ran: Call) -> dict[str, str]:
    """Return the parameters whose content other blocks have, each as its start and that path."""
    # The input of a call that stands for another is not repeated elsewhere, so it stays whole.
    if call.name != ran.name:
        return {}
    if shape == "write" and "content" in call.input:
        return {"content": _short(call.input["content"], _written_at(stamp, ran))}
    if shape == "exec" and (code := code_of(ran)) is not None:
        return {"code": _short(code, stamp.code_path)}
    return {}


def _short(value: Any, path: str) -> str:
    text = value if isinstance(value, str) else json_text(value)
    return f"{redact_start(text, _START)[:_START]}... [see {path}]"


def _written_at(stamp: Stamp, call: Call) -> str:
    """Return where the content is: the file, or the result that says why there is none."""
    path = call.input.get("path")
    try:
        return str(
            written_path(path if isinstance(path, str) else "", stamp.turn, stamp.turns).path
        )
    except BadPath:
        return stamp.path("result")


def _payload(stamp: Stamp) -> dict[str, Any]:
    """Return the payload of a call block, with no parameters yet."""
    return {"tool_id": stamp.tool, "tool_call_id": stamp.call, "params": {}, "ts": stamp.ts}


def _smaller(
    stamp: Stamp, params: dict[str, Any], keep: Keep | None, kept: list[Artifact]
) -> dict[str, Any]:
    """Return the parameters with the long ones kept elsewhere; all of them as one, if they are
    many.
    """
    smaller: dict[str, Any] = {}
    for name, value in params.items():
        text = value if isinstance(value, str) else json_text(value)
        smaller[name] = value
        if len(text) > _LONG:
            smaller[name] = _kept(f"{stamp.call}.{name[:40]}.txt", text, keep, kept)
    if fits(json_text(smaller)):
        return smaller
    return {"params": _kept(f"{stamp.call}.params.json", json_text(params), keep, kept)}


def _kept(name: str, text: str, keep: Keep | None, kept: list[Artifact]) -> str:
    """Return the start of a text, and keep all of it as an artifact."""
    content = text.encode()
    try:
        artifact = keep(name, content, "") if keep is not None else None
    except OSError:
        artifact = None
    if artifact is None:
        return f"{text[:_START]}... [{len(content)} bytes in all, left out]"
    kept.append(artifact)
    return f"{text[:_START]}... [{len(content)} bytes in all, kept as {artifact.path}]"
