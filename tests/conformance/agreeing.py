"""Whether a text is read here as a peer reads it.

Calls must be the same, in order, with arguments of the same types. Prose and thoughts are compared
without the blanks around them. Where peers have a habit that we do not share, it is allowed for:

- parsers of vLLM and SGLang drop what follows the first call, or all text beside calls, or the
  calls of unknown tools;
- a call that breaks off is given here, and said not to have ended; many peers drop it;
- what is broken is text to a peer; here it is said to be `Malformed`, with its text;
- a peer that splits off no reasoning leaves it in the text, with or without its markers;
- a peer that is asked to call nothing drops the calls; here that is for the caller to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from callblocks import parse
from callblocks.core.events import CallStarted, Event, Malformed, Reasoning, Text
from callblocks.core.json_values import same
from callblocks.parsing.dialect import Parsed
from conformance.vectors import Case

__all__ = ("difference", "options", "read")


def options(case: Case) -> dict[str, Any]:
    """How the text is to be read: with its tools, and inside a thought that the prompt opened."""
    return {"tools": case.tools, "in_reasoning": case.opened}


def read(case: Case) -> Parsed:
    """The text as we read it."""
    return parse(case.text, case.dialect, **options(case))


def difference(case: Case) -> str:
    """In what the two readings differ, or nothing."""
    parsed = read(case)
    if not any(same(_plain(calls), _plain(case.calls)) for calls in _calls(case, parsed)):
        return f"calls {next(_calls(case, parsed))} instead of {case.calls}"
    texts = _texts(case, parsed)
    if case.content.strip() not in texts:
        return f"text {texts[0]!r} instead of {case.content!r}"
    if case.reasoning is not None and case.reasoning.strip() != parsed.reasoning.strip():
        return f"reasoning {parsed.reasoning!r} instead of {case.reasoning!r}"
    return ""


def _calls(case: Case, parsed: Parsed) -> Iterator[list[tuple[str, Any]]]:
    """The calls, as a peer may give them back."""
    found = [] if case.without_calls else parsed.calls
    known = {tool.name for tool in case.tools}
    if case.peer in ("vllm", "sglang") and known:
        found = [call for call in found if call.name in known]
    shown = [] if case.without_calls else parsed.calls
    for calls in (shown, found, [call for call in found if call.ended]):
        yield [(call.name, call.input) for call in calls]


def _plain(calls: Sequence[tuple[str, Any]]) -> list[list[Any]]:
    return [[name, _number(value)] for name, value in calls]


def _number(value: Any) -> Any:
    """JSON has one kind of number: 5 and 5.0 are the same."""
    match value:
        case dict():
            return {key: _number(each) for key, each in value.items()}
        case list():
            return [_number(each) for each in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def _texts(case: Case, parsed: Parsed) -> list[str]:
    """The prose, as a peer may give it back."""
    events = parsed.events
    texts = [parsed.text, _kept(case, events, broken=True)]
    if case.reasoning is None:
        texts += [_kept(case, events, broken=True, thoughts=how) for how in ("as written", "bare")]
    if case.peer in ("vllm", "sglang") and parsed.calls:
        first = next(at for at, event in enumerate(events) if isinstance(event, CallStarted))
        texts += [_kept(case, events[:first]), *([""] if case.peer == "vllm" else [])]
    return [text.strip() for text in texts]


def _kept(case: Case, events: list[Event], *, broken: bool = False, thoughts: str = "") -> str:
    """The prose, and what a peer leaves in it: what opened like a call, and what was thought."""
    kept: list[str] = []
    for event in events:
        match event:
            case Text(text=text):
                kept.append(text)
            case Malformed(text=text) if broken:
                kept.append(text)
            case Reasoning(text=text, span=span) if thoughts:
                kept.append(case.text[slice(*span)] if thoughts == "as written" else text)
            case _:
                pass
    return "".join(kept)
