"""The JSON answer that a client demands (`response_format`), where no server holds the model to it.

A model puts its answer into a code fence although it is told not to: the fence is taken away, and
nothing else is.
"""

from __future__ import annotations

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
    plain = text.strip()
    # Line by line: a pattern over all of it takes cubic time where there are many blank lines.
    head, _, below = plain.partition("\n")
    inner, _, last = below.rpartition("\n")
    if head.strip() in ("```", "```json") and last.strip() == "```":
        plain = inner.strip()
    try:
        return read_json(plain, _DEPTH), plain
    except (ValueError, RecursionError):
        return None
