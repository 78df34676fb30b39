"""Reading and rewriting any text, for the playground. Nothing is kept, and nothing runs.

POST /api/parse      {"text": "…", "dialect": "auto"}
POST /api/convert    {"text": "…", "dialect": "auto", "into": "tool-fence"}

Offsets count characters. `at` is how many characters had arrived when an event was first known.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from callblocks.dialects import dialects
from callblocks.model.calls import Span
from callblocks.model.events import CallReady, Malformed, Problem
from callblocks.model.failures import FAILURES
from callblocks.parser import AUTO
from callblocks.server.faults import ApiFault, answer_json
from callblocks.server.reading import read_body
from callblocks.server.service import service_of
from callblocks.views.arrival import Arrival, arrivals, step_of
from callblocks.views.guessed import guess
from callblocks.views.rewriting import rewrite

__all__ = (
    "ConvertBody",
    "Converted",
    "ParseBody",
    "ParsedText",
    "ShownProblem",
    "convert_text",
    "parse_text",
)

_UNENDED = "unended_call"
_LONGEST = 1_000_000
_MOST = 20_000
"""Events that are told; the rest are counted."""

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


class ShownProblem(msgspec.Struct, frozen=True):
    """What is not as it should be, where, and when that was known."""

    code: str
    detail: str
    span: Span
    at: int


class ParsedText(msgspec.Struct, frozen=True):
    """What a text holds. `dialect` is the one that was found, "" where there is none.

    Each event has its `type`, its `span` and `at`. `step` is how many characters arrived at once,
    and `more` how many events are not listed.
    """

    dialect: str
    why: str
    length: int
    step: int
    events: list[dict[str, Any]]
    problems: list[ShownProblem]
    calls: int
    more: int = 0


class Converted(msgspec.Struct, frozen=True):
    """The text in the other dialect, what is left out of it, and what stands in it as it was.

    `needs` are the tools that a reader of the text must know.
    """

    text: str
    left_out: tuple[str, ...]
    kept_as_text: tuple[str, ...]
    needs: tuple[str, ...]


async def parse_text(request: Request) -> Response:
    """What a text holds: events, each with when it was known, and problems."""
    service = service_of(request)
    body = await read_body(request, ParseBody, service.settings)
    _check(body.dialect, (AUTO, *dialects))
    return answer_json(await service.read(lambda: _parsed(body)))


async def convert_text(request: Request) -> Response:
    """A text in another dialect, and what that cannot say."""
    service = service_of(request)
    body = await read_body(request, ConvertBody, service.settings)
    _check(body.dialect, (AUTO, *dialects))
    _check(body.into, tuple(dialects))

    def work() -> Converted:
        done = rewrite(body.text, body.dialect, body.into)
        return Converted(done.text, done.left_out, done.kept_as_text, done.needs)

    return answer_json(await service.read(work))


def _check(name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        words = f"no dialect {name!r:.60}; choose from: {', '.join(known)}"
        raise ApiFault("invalid_request", words)


def _parsed(body: ParseBody) -> ParsedText:
    known = arrivals(body.text, body.dialect)
    name, why = body.dialect, "it was chosen."
    if name == AUTO:
        name, why = guess(body.text, (one.event for one in known))
    return ParsedText(
        dialect=name,
        why=why,
        length=len(body.text),
        step=step_of(body.text),
        events=[_told(one) for one in known[:_MOST]],
        problems=[told for one in known[:_MOST] if (told := _problem(one, body.text))],
        calls=sum(isinstance(one.event, CallReady) for one in known),
        more=max(0, len(known) - _MOST),
    )


def _told(one: Arrival) -> dict[str, Any]:
    return {**msgspec.to_builtins(one.event), "at": one.at}


def _problem(one: Arrival, text: str) -> ShownProblem | None:
    match one.event:
        case Malformed(code=code, detail=detail, span=span):
            return ShownProblem(code, detail, span, one.at)
        case Problem(code=code, detail=detail, place=place):
            return ShownProblem(code, detail, place, one.at)
        case CallReady(call=call) if not call.ended:
            return ShownProblem(_UNENDED, FAILURES[_UNENDED], _last_line(text, call.span), one.at)
        case _:
            return None


def _last_line(text: str, span: Span) -> Span:
    """The end of a call that did not end: pointing at all of it would hide the rest."""
    start, end = span
    solid = start + len(text[start:end].rstrip())
    return max(start, text.rfind("\n", 0, solid) + 1), end
