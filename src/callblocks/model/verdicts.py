"""Words for a call that did not run: who or what stopped it, and why.

    approval_denied: f did not run: a person said no: not today    denied by you: not today
    approval_expired: f did not run: nobody answered in 10 minutes not answered in 10 minutes
    policy_denied: f did not run: rule 1: secrets stay             refused by rule 1: secrets stay
    address_refused: f did not run: it is on this machine          refused, not asked: it is on …
    cancelled: f did not run: the turn was stopped                 cancelled by you

The gate writes `did not run` into the failure of every call that it stops. A tool may fail with any
code and any words, also with these, and so may a server that a tool repeats; the runtime puts the
words of every call that ran through `without_verdict`, so that none of them is read as a verdict.
`web/src/verdicts.js` says the same.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from callblocks.model.outcomes import Failure

__all__ = ("Verdict", "verdict_of", "without_verdict")

_CODE = re.compile(r"[a-z_]{1,64}")
_ERROR = re.compile(r"([a-z_]{1,64}): ?([\s\S]*)")
_DID_NOT_RUN = re.compile(r"[^\n]{0,200}? did not run: ([\s\S]*)")
_RULE = re.compile(r"(rule \d{1,9})[^:]{0,80}: ?([\s\S]*)")
_LEADS = {
    "approval_denied": "denied by you",
    "approval_expired": "not approved in time",
    "approval_revoked": "not approved, taken back",
    "approval_required": "not approved",
    "approval_mismatch": "not approved",
    "policy_denied": "refused",
    "policy_off": "refused",
}
_UNANSWERED = re.compile(r"nobody (answered in \d+ (?:minute|second)s?)")
_SAID_NO = "a person said no"
# The codes whose message adds nothing to the lead.
_ALONE = frozenset(("approval_expired", "approval_revoked"))


class Verdict(NamedTuple):
    """The lead, and the reason or ""."""

    lead: str
    why: str

    @property
    def text(self) -> str:
        """Return both in one line."""
        return f"{self.lead}: {self.why}" if self.why else self.lead


def verdict_of(error: str) -> Verdict | None:
    """Return the words for an error, written `code: message`; `None` where the call ran."""
    found = _ERROR.match(error)
    if found is None:
        return None
    code, message = found[1], found[2]
    # The words of the gate decide, not the code alone: a tool may fail with `cancelled` after it
    # ran.
    unrun = _DID_NOT_RUN.match(message)
    if unrun is None:
        return None
    if code == "cancelled":
        return Verdict("cancelled by you", "")
    return _verdict(code, unrun[1])


def without_verdict(failure: Failure) -> Failure:
    """Return the failure of a call that ran, in words that no verdict is read from."""
    error = f"{failure.code}: {failure.message}"
    if verdict_of(error) is None:
        return failure
    is_code = _CODE.fullmatch(failure.code) is not None
    # The words of a verdict stand in the first line.
    words = f"it ran, and failed:\n{failure.message if is_code else error}"
    code = failure.code if is_code else "tool_error"
    return msgspec.structs.replace(failure, code=code, message=words)


def _verdict(code: str, words: str) -> Verdict:
    lead, why = _LEADS.get(code, "refused, not asked"), words
    rule = _RULE.match(words) if code == "policy_denied" else None
    if rule is not None:
        lead, why = f"refused by {rule[1]}", rule[2]
    elif unanswered := _UNANSWERED.fullmatch(words):
        lead, why = f"not {unanswered[1]}", ""
    elif code in _ALONE:
        why = ""
    elif code == "approval_denied":
        why = words.removeprefix(_SAID_NO).removeprefix(": ")
    return Verdict(lead, why)
