"""One question to a person, its answer, and the states that it passes through.

pending ──approve──▶ approved ──take──▶ used        (once)
   │                    │ └───────────▶ approved    (grant: until it expires)
   ├──deny──▶ denied    ├──revoke──▶ revoked
   └──────────── time ──┴──────────▶ expired
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, cast

import msgspec

from callblocks.core.errors import CallblocksError, CallerError
from callblocks.core.text import brief
from callblocks.tools.tool import Tool

__all__ = (
    "MINUTES",
    "Approval",
    "ApprovalsUnavailable",
    "BadApproval",
    "HiddenCall",
    "State",
    "Status",
    "Taken",
    "fingerprint",
    "grant_key",
)

State: TypeAlias = Literal["pending", "approved", "denied", "used", "expired", "revoked"]
Status: TypeAlias = Literal["used", "none", "pending", "denied", "expired", "revoked", "mismatch"]

# The lengths of a grant, in minutes. A person chooses one of these; a free number would let a
# typing error grant a tool for days.
MINUTES = (5, 10, 30)

_CODES: dict[Status, str] = {
    "used": "",
    "none": "approval_required",
    "pending": "approval_required",
    "denied": "approval_denied",
    "expired": "approval_expired",
    "revoked": "approval_revoked",
    "mismatch": "approval_mismatch",
}


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a person, and the answer.

    `shown` is the text that the person saw, with secrets masked. `is_whole` is false where a mask
    covers more than a value: a person who sees only `shown` must not approve such a call. Times are
    seconds since 1970; `answered_at` is 0 while there is no answer. `minutes` is 0 for an approval
    that counts once; otherwise the approval is a grant, which covers every input of the tool for
    that many minutes.
    """

    id: str
    state: State
    fingerprint: str
    grant_key: str
    tool: str
    shown: str
    asked_at: float
    answered_at: float = 0.0
    expires_at: float
    reason: str = ""
    minutes: int = 0
    tainted: bool = False
    is_whole: bool = True


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """The result of looking up an approval for a call: may the call run now?

    used: the call may run, and a one-time approval is now spent. pending: a question exists but has
    no answer. mismatch: the named approval is for another call, or was given under another policy.
    """

    status: Status
    approval: Approval | None = None

    @property
    def ok(self) -> bool:
        """Return whether the call may run."""
        return self.status == "used"

    @property
    def code(self) -> str:
        """Return the failure code; "" where the call may run."""
        return _CODES[self.status]

    @property
    def reason(self) -> str:
        """Return the person's reason for a denial, otherwise ""."""
        return self.approval.reason if self.approval is not None else ""


# --- Exceptions of approvals: the caller's mistakes and the machine's faults ---
#
# CallblocksError
# ├── ApprovalsUnavailable     the file of approvals cannot be used: nothing counts as approved
# └── CallerError
#     └── BadApproval          an unknown id, or an answer that comes too late
#         └── HiddenCall       an approval of a call of which a part is not shown


class ApprovalsUnavailable(CallblocksError, OSError):
    """The file of approvals cannot be read or written; every call counts as not approved."""


class BadApproval(CallerError, ValueError):
    """An approval that cannot be requested, answered or revoked in this way."""


class HiddenCall(BadApproval):
    """An approval of a call that was not shown whole; a surface that shows all of it may accept
    one.
    """


# --- Fingerprints: they bind an approval to one exact call, one policy and one place ---
#
#     fingerprint(tool, {"path": "a"}, policy.digest)     this call and no other
#     grant_key(tool, policy.digest, tainted=False)       any input of this tool
#
# A person approves what is shown. An attacker who could build another call with the same
# fingerprint would run it on that approval, so the encoding must be injective:
#
# - Each part is written with its type and length. `["ab", "c"]` and `["a", "bc"]` differ, and no
#   string can imitate the bytes of a list, an object or the next field.
# - 1, 1.0, "1" and true all differ. The order of an object's keys does not count.
# - The tool counts with everything that a model sees of it and with its traits, so a tool that was
#   changed after the approval is another tool.
# - The policy's digest counts, so an approval does not survive an edit of the policy.
#
# Why not hash `json.dumps`: it writes lone surrogates, NaN and big integers in ways that differ
# between versions, and it gives no separation between the fields around it.


def fingerprint(tool: Tool, input: dict[str, Any], policy_digest: str, *, place: str = "") -> str:
    """Return the fingerprint of this exact call: 64 hex digits. `place` is the workspace it runs
    in.
    """
    return _digest(["call", policy_digest, place, _definition(tool), input])


def grant_key(tool: Tool, policy_digest: str, tainted: bool, *, place: str = "") -> str:
    """Return the key shared by all calls of a tool; tainted and untainted turns have different
    keys.
    """
    return _digest(["grant", policy_digest, place, _definition(tool), tainted])


def _definition(tool: Tool) -> list[Any]:
    spec = tool.spec
    traits = msgspec.structs.asdict(tool.traits)
    # The result kind only decides how an outcome is recorded, not what the tool does.
    del traits["result"]
    return [spec.name, spec.description, spec.parameters, spec.body, traits, tool.origin]


def _digest(value: object) -> str:
    # Domain separation: the version in this line changes whenever the encoding changes, so that
    # stored fingerprints of an older encoding never match.
    digest = hashlib.sha256(b"callblocks approval 1\n")
    try:
        for part in _parts(value):
            digest.update(part)
    # A person cannot judge such an input, and a partly hashed value must not be returned.
    except RecursionError as error:
        raise BadApproval("an input nested this deep cannot be approved") from error
    return digest.hexdigest()


def _parts(value: object) -> Iterator[bytes]:
    """Yield the bytes of a value: a letter for the type, and the length wherever there is one."""
    match value:
        # `bool` is a subclass of `int`: its case must stand before the case of `int`.
        case None | bool():
            yield b"n" if value is None else b"t" if value else b"f"
        case int():
            yield _framed(b"i", b"%x" % value)
        case float():
            # NaN has many bit patterns that look alike when shown, so they count as one value.
            yield b"d" + struct.pack(">d", math.nan if math.isnan(value) else value)
        case str():
            yield _framed(b"s", value.encode("utf-8", "surrogatepass"))
        case list() | tuple():
            items = cast("list[object]", value)
            yield b"l%d:" % len(items)
            for item in items:
                yield from _parts(item)
        case dict():
            yield from _object_parts(cast("dict[object, object]", value))
        case _:
            raise BadApproval(f"{brief(value)} is no JSON value: it cannot be approved")


def _object_parts(fields: dict[object, object]) -> Iterator[bytes]:
    # A key such as 1 would be shown like the key "1", so only strings are accepted as keys.
    names = [name for name in fields if isinstance(name, str)]
    if len(names) != len(fields):
        raise BadApproval(f"{brief(fields)} has a key that is no text: it cannot be approved")
    yield b"o%d:" % len(names)
    for name in sorted(names):
        yield _framed(b"s", name.encode("utf-8", "surrogatepass"))
        yield from _parts(fields[name])


def _framed(letter: bytes, text: bytes) -> bytes:
    return b"%s%d:%s" % (letter, len(text), text)
