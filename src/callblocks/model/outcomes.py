"""Outcomes of calls: an output or a failure, files, and notices.

    Outcome(id="c1", name="ls", output="a.py")
    Outcome(id="c2", name="rm", error=Failure(code="policy_denied", message="…"))

A failure is a value with a stable code: it reaches the model as a result it can act on, and the
person as the same words.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from callblocks.model.calls import Result

__all__ = ("Artifact", "Failure", "Notice", "Outcome", "without_managed")


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
