"""For which AI SDK client a stream is written.

What a request says counts first: `?sdk_version=7`, or the header `x-callblocks-sdk-version`. The
chat clients of the npm package say nothing by themselves, and their first requests are equal byte
for byte. So the rest is found out where it shows, strongest sign first:

- a user agent that names the package: `ai/5.0.277`
- the history that a client posts: a question that its call never heard of was read by version 5,
  and so was a call without `providerExecuted`, which the first clients drop

Else it is what the server was started with. The stream of version 6 is the newest that every
client with approvals reads: 7 reads all of it, while one chunk that only 7 knows would end the
stream in a client of version 6.

A client of version 5 has no approvals. One that says its version is taken to show `data-approval`
parts and to answer by POST /api/approvals/ID; one that was only found out is told by an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec
from starlette.requests import Request

from callblocks.server.faults import ApiFault
from callblocks.server.reading import read_query
from callblocks.server.service import service_of
from callblocks.server.settings import SDK_VERSIONS, SdkClient, SdkVersion

__all__ = ("VERSION_HEADER", "VersionQuery", "client_of", "detect_client")

VERSION_HEADER = "x-callblocks-sdk-version"

_AGENT = re.compile(r"(?:^|[\s(])ai/([567])(?:\.|[\s;)]|$)")
_UNANSWERED = ("input-streaming", "input-available")


class VersionQuery(msgspec.Struct, frozen=True):
    """The version that the client has."""

    sdk_version: SdkVersion | None = None


def client_of(
    request: Request, history: Sequence[dict[str, Any]] = (), known: SdkClient | None = None
) -> SdkClient:
    """Return the client that sent a request: as it says, as its signs say, as `known`, or usual."""
    said = _said_version(request)
    if said is not None:
        return SdkClient(said)
    found = detect_client(request.headers.get("user-agent", ""), history)
    return found or known or SdkClient(service_of(request).settings.sdk_version)


def detect_client(agent: str, history: Sequence[dict[str, Any]]) -> SdkClient | None:
    """Return the client that a user agent and a posted history tell of; None where none do."""
    named = _AGENT.search(agent)
    if named is not None:
        version = SDK_VERSIONS[("5", "6", "7").index(named[1])]
        return SdkClient(version, answers=version > 5)
    if any(_is_of_version_5(list(_parts(message))) for message in history):
        return SdkClient(5, answers=False)
    return None


def _said_version(request: Request) -> SdkVersion | None:
    asked = read_query(request, VersionQuery).sdk_version
    said = request.headers.get(VERSION_HEADER)
    if asked is not None or said is None:
        return asked
    for version in SDK_VERSIONS:
        if said.strip() == str(version):
            return version
    raise ApiFault("bad_header", f"{VERSION_HEADER} is 5, 6 or 7")


def _is_of_version_5(parts: Sequence[dict[str, Any]]) -> bool:
    calls = [part for part in parts if part.get("type") == "dynamic-tool"]
    # Every call of ours is marked, and is posted by a client alone where it is answered.
    if any("providerExecuted" not in call and "approval" not in call for call in calls):
        return True
    # A list, and no set: what a client posts as an id may be anything.
    asked = [_asked_call(part) for part in parts if part.get("type") == "data-approval"]
    return any(
        isinstance(call.get("toolCallId"), str)
        and call["toolCallId"] in asked
        and call.get("state") in _UNANSWERED
        and "approval" not in call
        for call in calls
    )


def _asked_call(part: dict[str, Any]) -> object:
    """Return the call of a question that has no answer; None for all others."""
    data: Any = part.get("data")
    if not isinstance(data, dict) or "approved" in data:
        return None
    return cast("dict[str, Any]", data).get("toolCallId")


def _parts(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    parts: Any = message.get("parts") if message.get("role") == "assistant" else None
    for part in cast("list[Any]", parts) if isinstance(parts, list) else ():
        if isinstance(part, dict):
            yield cast("dict[str, Any]", part)
