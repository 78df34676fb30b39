"""The JSON answer that a client demands (`response_format`), where no server holds the model to it.

A model puts its answer into a code fence, or a sentence before it, although it is told not to. One
value in one fence, or one object between prose, is the answer; what stands around it is
taken away. Where there could be two, the model is asked again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from callblocks.gateway.exchange import JsonFormat
from callblocks.parsing.values.strict_json import read_json

__all__ = ("AnswerFault", "answer_fault", "json_answer")

_DEPTH = 100


class AnswerFault(msgspec.Struct, frozen=True):
    """Why an answer is not what is demanded; "" where it is.

    `schema_problem` says why the schema could not be checked.
    """

    why: str = ""
    schema_problem: str = ""


def answer_fault(text: str, form: JsonFormat) -> AnswerFault:
    """Judge an answer."""
    value = json_answer(text)
    if value is None:
        return AnswerFault("it is no JSON")
    if form.schema is None:
        return AnswerFault()
    # It costs 5 MB, and few requests have a schema.
    from callblocks.tools.schema_check import validator_of

    try:
        error = next(iter(validator_of(form.schema).iter_errors(value[0])), None)
    except (ValueError, TypeError, RecursionError, OverflowError) as problem:
        return AnswerFault("", f"{problem!s:.200}")
    return AnswerFault(f"{error.message:.500}" if error else "")


def json_answer(text: str) -> tuple[Any, str] | None:
    """Return the JSON value of an answer, and its text without what stands around it."""
    for part in _parts(text.strip()):
        try:
            return read_json(part, _DEPTH), part
        except (ValueError, RecursionError):
            continue
    return None


def _parts(text: str) -> Iterator[str]:
    """Yield what may be the answer: all of the text, its only fence, what its braces hold."""
    yield text
    # Line by line: a pattern over all of it takes cubic time where there are many blank lines.
    lines = text.split("\n")
    fences = [at for at, line in enumerate(lines) if line.lstrip().startswith("```")]
    if len(fences) == 2:
        first, last = fences
        yield "\n".join(lines[first + 1 : last]).strip()
    elif not fences:
        # Prose has square brackets, too.
        yield text[max(text.find("{"), 0) : text.rfind("}") + 1]
