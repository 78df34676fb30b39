"""Reading and rewriting any text, for the playground. Nothing is kept, and nothing runs.

POST /api/parse      {"text": "…", "dialect": "auto"}
POST /api/convert    {"text": "…", "dialect": "auto", "into": "tool-fence"}

A process beside the server does the work; see `cpu_program`.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.dialects import dialects
from callblocks.parser import AUTO
from callblocks.server.cpu_program import ConvertWork, ParseWork
from callblocks.server.http.faults import ApiFault
from callblocks.server.http.request import read_body
from callblocks.server.service import service_of

__all__ = (
    "ConvertBody",
    "ParseBody",
    "convert_text",
    "parse_text",
)

_LONGEST = 1_000_000

_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=_LONGEST)]


class ParseBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text, and the name of the dialect that it is read in."""

    text: _Text
    dialect: str = AUTO


class ConvertBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text, the dialect that it is read in, and the one that it is written in."""

    text: _Text
    into: str
    dialect: str = AUTO


async def parse_text(request: Request) -> Response:
    """Parse a text: its events and problems, each with the offset at which it was reported."""
    service = service_of(request)
    body = await read_body(request, ParseBody, service.settings)
    _check(body.dialect, (AUTO, *dialects))
    return await service.work(request, ParseWork(body.text, body.dialect))


async def convert_text(request: Request) -> Response:
    """A text in another dialect, and what that cannot say."""
    service = service_of(request)
    body = await read_body(request, ConvertBody, service.settings)
    _check(body.dialect, (AUTO, *dialects))
    _check(body.into, tuple(dialects))
    return await service.work(request, ConvertWork(body.text, body.dialect, body.into))


def _check(name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        words = f"no dialect {name!r:.60}; choose from: {', '.join(known)}"
        raise ApiFault("invalid_request", words)
