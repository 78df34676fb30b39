"""For which version of the AI SDK a stream is written: clients do not say it by themselves.

?sdk_version=6, or the header x-callblocks-sdk-version, or what the server was started with
"""

from __future__ import annotations

import msgspec
from starlette.requests import Request

from callblocks.server.faults import ApiFault
from callblocks.server.reading import read_query
from callblocks.server.service import service_of
from callblocks.server.settings import SDK_VERSIONS, SdkVersion

__all__ = ("VERSION_HEADER", "VersionQuery", "version_of")

VERSION_HEADER = "x-callblocks-sdk-version"


class VersionQuery(msgspec.Struct, frozen=True):
    """The version that the client has."""

    sdk_version: SdkVersion | None = None


def version_of(request: Request) -> SdkVersion:
    """The version that a request asks for."""
    asked = read_query(request, VersionQuery).sdk_version
    if asked is not None:
        return asked
    said = request.headers.get(VERSION_HEADER)
    if said is None:
        return service_of(request).settings.sdk_version
    for version in SDK_VERSIONS:
        if said.strip() == str(version):
            return version
    raise ApiFault("bad_header", f"{VERSION_HEADER} is 5, 6 or 7")
