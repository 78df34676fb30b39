"""A timeline for people: as a page of HTML, and whether it is as it was written.

GET /api/timelines/NAME/page
GET /api/timelines/NAME/verify
"""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.server.cpu_program import PageWork
from callblocks.server.faults import answer_json
from callblocks.server.service import Service, service_of
from callblocks.timeline.keeping.verify_artifacts import verify_artifacts
from callblocks.timeline.stores.verify import Finding, verify

__all__ = ("Verified", "show_timeline", "verify_timeline")

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'self'"
)
_PAGE_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Verified(msgspec.Struct, frozen=True):
    """What checking a timeline found; no problem, no finding."""

    name: str
    count: int
    hash: str
    problems: list[Finding]


async def show_timeline(request: Request) -> Response:
    """A timeline as one page of HTML that loads nothing."""
    service, name = service_of(request), request.path_params["name"]
    head = await service.existing(name)
    title, entries = await service.read(lambda: (_title(service, name), service.entries(name)))
    page = PageWork(title, entries, head.count)
    return await service.work(request, page, "text/html; charset=utf-8", _PAGE_HEADERS)


def _title(service: Service, name: str) -> str:
    """How the chat is called in the list of chats, or the name where nothing was said in it."""
    chats = (one for one in service.host.store.names() if one.name == name)
    return next(map(service.known.title, chats), "") or name


async def verify_timeline(request: Request) -> Response:
    """Check each hash, each number and each kept file of a timeline."""
    service, name = service_of(request), request.path_params["name"]
    head = await service.existing(name)

    def check() -> list[Finding]:
        store, artifacts = service.host.store, service.host.artifacts
        findings = verify(store, name)
        findings += verify_artifacts(service.entries(name), artifacts)
        return [_without_places(finding) for finding in findings]

    problems = await service.read(check)
    return answer_json(Verified(name, head.count, head.hash, problems))


def _without_places(finding: Finding) -> Finding:
    """What is wrong with a file, without where it is on this machine."""
    if not finding.code.startswith("artifact"):
        return finding
    return msgspec.structs.replace(
        finding, message=f"a file of block {finding.seq}: {finding.code}"
    )
