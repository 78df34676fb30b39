"""Outcomes of calls: an output or a failure, files, and notices.

    Outcome(id="c1", name="ls", output="a.py")
    Outcome(id="c2", name="rm", error=Failure(code="policy_denied", message="…"))

A failure is a value with a stable code: it reaches the model as a result it can act on, and the
person as the same words.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast

import msgspec

from callblocks.core.calls import Result

__all__ = (
    "FAILURES",
    "Artifact",
    "Failure",
    "Notice",
    "Outcome",
    "Verdict",
    "verdict_of",
    "without_managed",
    "without_verdict",
)


def without_managed(value: Any) -> Any:
    """Remove the fields `managed` from the details of a failure, at any depth.

    An error of a tool may contain that of another one, which it called.
    """
    # Recursion is safe: details pass through `plain`, which bounds their depth.
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return {key: without_managed(item) for key, item in fields if key != "managed"}
    if isinstance(value, list | tuple):
        return [without_managed(item) for item in cast("list[Any]", value)]
    return value


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why a call gave no output: a stable code, words for the model, and where it
    happened.

    `managed` means that the tool handled the fault itself; it is never shown.
    """

    code: str
    message: str
    where: str = ""
    details: dict[str, Any] = {}
    managed: bool = False

    def payload(self) -> dict[str, Any]:
        """Return the fields for a timeline and a model: nothing empty, and not `managed`."""
        payload: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.where:
            payload["where"] = self.where
        if self.details:
            payload["details"] = without_managed(self.details)
        return payload


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A fact for the model beside the output: a path rewritten, a file left out."""

    code: str
    message: str
    details: dict[str, Any] = {}


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a call made, stored with its SHA-256 digest."""

    path: str
    size: int
    digest: str
    mime: str = "application/octet-stream"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one call."""

    id: str
    name: str
    output: Any = None
    error: Failure | None = None
    artifacts: tuple[Artifact, ...] = ()
    notices: tuple[Notice, ...] = ()
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Return whether the call succeeded."""
        return self.error is None

    def result(self) -> Result:
        """Return the outcome as a dialect writes it: an output, or `code: message` as the error."""
        if self.error is None:
            return Result(id=self.id, output=self.output)
        return Result(id=self.id, error=f"{self.error.code}: {self.error.message}")


# --- Codes of failed calls, with their meaning ---
#
# The code is for programs and is stable; the message beside it is for the model and the person. A
# caller's own tool may use codes of its own.

FAILURES = {
    # The call itself.
    "unknown_tool": "no tool has that name",
    "not_runnable": "the tool is known, but nothing here can run it",
    "invalid_input": "the input does not fit the tool's schema; `details` has a line per field",
    "unended_call": "the text stopped before the call did, so it may be incomplete",
    # Policy and approval.
    "policy_off": "nothing runs: no policy was given",
    "policy_denied": "a rule of the policy forbids this call",
    "approval_required": "a person must approve this call, and nobody was there to ask",
    "approval_denied": "a person said no",
    "approval_expired": "the approval came too late, or was used too late",
    "approval_revoked": "the approval was taken back",
    "approval_mismatch": "the approval was given for other arguments, or under another policy",
    # Running.
    "tool_error": "the tool raised an exception",
    "tool_died": "the tool's process ended without an answer",
    "timeout": "the tool took longer than it may, and was stopped",
    "cancelled": "the call was stopped before it finished",
    "limit_reached": "the turn may make no more calls, or too many wait for a place",
    "indeterminate": "it is not known whether the effect happened: the program died meanwhile",
    "bad_envelope": "an external tool answered without `ok` and `error`",
    "bad_output": "the tool gave a value that cannot be written down",
    "not_kept": "a file or an output could not be kept",
    # Documents.
    "document_empty": "there is nothing to show",
    "document_too_large": "the document passes a limit: its text, pages, slides, cells or bytes",
    "document_invalid": "the text is nested too deep, or is not what `format` says",
    "no_table": "a workbook was asked for, and the text has no table",
    "render_timeout": "the document took too long, and was given up; nothing was written",
    "render_failed": "a library broke off while it made the document; nothing was written",
    "renderer_missing": "a library or package that lays out pages is not installed",
    # The sandbox.
    "sandbox_unavailable": "no sandbox works here, so commands and code do not run",
    "sandbox_failed": "the sandbox could not be set up for this call",
    # Code with a contract.
    "execution_failed": "the code ended with an error; the message is the last that it said",
    "out_of_memory": "the code needed more memory than it may use",
    "out_of_processes": "the code started more processes or threads than it may",
    "out_of_disk": "the code wrote more than it may",
    # Files.
    "unsafe_path": "the path leaves the workspace, or is no path",
    "protected_path": "a file that steers other programs, or callblocks itself, is not written",
    "path_not_found": "nothing is at that path",
    "path_changed": "something else took the place of the file after the call was judged",
    "path_exists": "something is at that path already, and it may not be overwritten",
    "wrong_file_type": "a folder where a file is needed, or the other way round, or a device",
    "file_too_large": "the file, or what would be written, passes the limit",
    "not_text": "the file is not UTF-8 text",
    "access_denied": "the operating system refused access to the path",
    "disk_full": "no room is left; nothing was written",
    "file_error": "the operating system refused it",
    # Files and paths of a turn.
    "file_not_found": "the tool said that it wrote the file, and no file is there",
    "empty_file": "the file that was written has no content",
    "file_invalid": "the file does not open as what its name says",
    "not_found": "nothing has that id, or nothing on the timeline is at that path",
    "hide_refused": "what the person said, or was answered, is never hidden",
    "hide_before_cache": "the block is part of what the model's provider has cached, and stays",
    "hide_too_old": "the block is too far back to be hidden",
    # The office: mail, files, events, documents, sheets and tasks.
    "conflict": "it was changed meanwhile, or something of that name is there already",
    "workspace_damaged": "a file of the office cannot be read; the message names it",
    "busy": "another program holds the file for too long; try again",
    "sign_in_needed": "no account is connected, or its access has ended",
    "forbidden": "the account may not do this",
    "quota_exceeded": "the service takes no more requests for a while",
    "service_unavailable": "the service failed, also when asked again",
    # The network.
    "invalid_url": "not an http or https address that can be asked",
    "address_refused": "the address is not a public one",
    "host_not_found": "the name of the host has no address",
    "too_many_redirects": "the server sent the client on and on",
    "response_too_large": "the response passes the limit",
    "network_error": "the connection failed or broke",
    # The web.
    "http_error": "the server has no such page, or answered with another error",
    "robots_denied": "the site asks programs not to read that page",
    "unsupported_type": "the page is neither HTML nor PDF nor text",
    "no_text": "the page has no text that can be read without a browser",
    "bad_setting": "a setting of this machine is wrong; a person must correct it",
}


# --- Words for a call that did not run: who or what stopped it, and why ---
#
#     approval_denied: f did not run: a person said no: not today    denied by you: not today
#     approval_expired: f did not run: nobody answered in 10 minutes not answered in 10 minutes
#     policy_denied: f did not run: rule 1: secrets stay             refused by rule 1: secrets stay
#     address_refused: f did not run: it is on this machine          refused, not asked: it is on …
#     cancelled: f did not run: the turn was stopped                 cancelled by you
#
# The gate writes `did not run` into the failure of every call that it stops. A tool may fail with
# any code and any words, also with these, and so may a server that a tool repeats; the runtime puts
# the words of every call that ran through `without_verdict`, so that none of them is read as a
# verdict. `web/src/verdicts.js` says the same.

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
