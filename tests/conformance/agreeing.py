"""Whether a text is read here as a peer reads it.

Calls must be the same, in order, with arguments of the same types. Prose and thoughts are compared
without the blanks around them. Where peers have a habit that we do not share, it is allowed for:

- a parser of vLLM drops what follows the first call, and one of SGLang the calls of unknown tools;
- a peer that splits off no reasoning leaves it in the text, markers and all;
- a peer that is asked to call nothing drops the calls; here that is for the caller to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from callblocks import parse
from callblocks.model.events import CallStarted, Malformed, Reasoning, Text
from callblocks.parsing.parsed import Parsed
from callblocks.parsing.same import same
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
    calls = [] if case.without_calls else [(call.name, call.input) for call in parsed.calls]
    if case.peer == "sglang":
        known = {tool.name for tool in case.tools}
        calls = [call for call in calls if call[0] in known] if known else calls
    if not same(_plain(calls), _plain(case.calls)):
        return f"calls {calls} instead of {case.calls}"
    texts = _texts(case, parsed)
    if case.content.strip() not in texts:
        return f"text {texts[0]!r} instead of {case.content!r}"
    if case.reasoning is not None and case.reasoning.strip() != parsed.reasoning.strip():
        return f"reasoning {parsed.reasoning!r} instead of {case.reasoning!r}"
    return ""


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
    texts = [parsed.text]
    if case.reasoning is None:
        texts.append(_with_reasoning(case, parsed))
    if case.peer == "vllm" and case.calls:
        before = next(n for n, e in enumerate(parsed.events) if isinstance(e, CallStarted))
        texts.append("".join(e.text for e in parsed.events[:before] if isinstance(e, Text)))
    return [text.strip() for text in texts]


def _with_reasoning(case: Case, parsed: Parsed) -> str:
    """The prose and the thoughts as they were written, and what opened like a call."""
    kept = (e for e in parsed.events if isinstance(e, Text | Reasoning | Malformed))
    return "".join(case.text[slice(*event.span)] for event in kept)
