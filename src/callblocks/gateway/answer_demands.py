"""Demands of a client on an answer: a JSON value, and stop sequences, where no server holds them.

A model puts its answer into a code fence, or a sentence before it, although it is told not to. One
value in one fence, or one object between prose, is the answer; what stands around it is
taken away. Where there could be two, the model is asked again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from callblocks.gateway.exchange import JsonFormat
from callblocks.parsing.values.strict_json import read_json

__all__ = (
    "AnswerFault",
    "StopWatch",
    "answer_fault",
    "json_answer",
)

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
    from callblocks.tools.schema import count_looks
    from callblocks.tools.schema_check import EXPLAINED, levels_of, validator_of

    try:
        if count_looks(form.schema, levels_of(value[0])) > EXPLAINED:
            return AnswerFault("", "it branches too often to be checked")
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


# --- Stop sequences of a client, looked for in prose alone: a call that holds one is not cut
#     by it ---
#
#     StopWatch(["END"]).feed("the E")        ("the ", "")       the rest waits
#                      .feed("ND of it")      ("", "END")
#
# Strategy. An automaton of Aho and Corasick: a state is the longest end of the text that begins a
# stop sequence. So each character is looked at once, whatever the sequences are, and the text that
# waits is as long as the state is deep.


class StopWatch:
    """Finds the first of several texts, in pieces."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._next: list[dict[str, int]] = [{}]
        self._depth = [0]
        self._found = [""]
        for stop in filter(None, stops):
            state = 0
            for char in stop:
                if char not in self._next[state]:
                    self._next[state][char] = len(self._next)
                    self._next.append({})
                    self._depth.append(self._depth[state] + 1)
                    self._found.append("")
                state = self._next[state][char]
            self._found[state] = stop
        self._fallback = self._fallbacks()
        self._state = 0
        self._pending = ""

    def _fallbacks(self) -> list[int]:
        """Return for each state the longest end of its text that is a state, too."""
        back = [0] * len(self._next)
        queue = deque(self._next[0].values())
        while queue:
            state = queue.popleft()
            self._found[state] = self._found[state] or self._found[back[state]]
            for char, below in self._next[state].items():
                other = back[state]
                while other and char not in self._next[other]:
                    other = back[other]
                back[below] = self._next[other].get(char, 0)
                queue.append(below)
        return back

    def feed(self, text: str) -> tuple[str, str]:
        """Return the text that may be sent, and the stop sequence that was found, or ""."""
        state, first = self._state, self._next[0]
        if not state and first.keys().isdisjoint(text):
            return text, ""
        whole, self._pending = self._pending + text, ""
        for at, char in enumerate(text, len(whole) - len(text) + 1):
            while state and char not in self._next[state]:
                state = self._fallback[state]
            state = self._next[state].get(char, 0)
            if stop := self._found[state]:
                self._state = 0
                return whole[: at - len(stop)], stop
        self._state = state
        sure = len(whole) - self._depth[state]
        self._pending = whole[sure:]
        return whole[:sure], ""

    def close(self) -> str:
        """Return the text that waited."""
        pending, self._pending, self._state = self._pending, "", 0
        return pending
