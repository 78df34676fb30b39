"""Work, counted in calls and copies and not timed; too much of it ends a test.

The count is the number of calls, of Python and of C, and the number of characters that were
copied or searched: in the scanner, in JSON, in the fast path of `feed`, and in any text that a
dialect takes from a block. A slice of a long text is one call, so the characters matter as much.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from cProfile import Profile
from typing import Any
from unittest.mock import patch

from callblocks.parsing.engine.block import Block
from callblocks.parsing.engine.parse_state import ParseState, Scanner
from callblocks.parsing.loop import Engine
from callblocks.parsing.values.strict_json import JsonScan
from support.text_pieces import read

__all__ = ("TooMuchWork", "at_most", "work")

COPIES = (
    *("__add__", "__getitem__", "partition", "removeprefix", "removesuffix", "rpartition"),
    *("lstrip", "rstrip", "strip", "split", "splitlines", "replace", "translate", "find", "index"),
)


def work(dialect: Any, pieces: Iterable[str], **options: Any) -> int:
    """Count what it takes to read a text that arrives in these pieces."""
    parts = list(pieces)
    with _counting() as count:
        read(dialect, parts, **options)
    return count.total


class _Count:
    def __init__(self) -> None:
        self.total = 0

    def __call__(self, owner: type, name: str, cost: Callable[..., int]) -> Any:
        """Wrap a method so that its cost, told from what it is given, counts."""
        method = getattr(owner, name)

        def wrapped(*arguments: Any, **named: Any) -> Any:
            self.total += cost(*arguments, **named)
            return method(*arguments, **named)

        return patch.object(owner, name, wrapped)

    @property
    def kind(self) -> type[str]:
        """Strings whose copies count, and are again such strings."""
        count = self

        def copying(name: str) -> Callable[..., Any]:
            method = getattr(str, name)

            def copy(text: str, *arguments: Any) -> Any:
                made = method(text, *arguments)
                if not isinstance(made, str):
                    count.total += len(text)
                    return made
                count.total += len(made)
                return kind(made)

            return copy

        kind: type[str] = type("Counted", (str,), {name: copying(name) for name in COPIES})
        return kind


@contextmanager
def _counting() -> Iterator[_Count]:
    count = _Count()
    kind = count.kind

    def text(block: Block) -> str:
        joined = "".join(block.taken)
        count.total += len(joined)
        return kind(joined)

    wraps = (
        count(Engine, "feed", lambda engine, piece: len(engine.held) + len(piece)),
        count(Scanner, "feed", lambda scan, piece: len(scan.text) - scan.pos + len(piece)),
        count(Scanner, "take", lambda scan, end: end - scan.pos),
        count(ParseState, "settle", lambda stage, *_: len(stage.scan.text) - stage.scan.pos),
        count(Block, "_take", lambda block, end: end - block.scan.pos),
        count(Scanner, "rewind", _rewound),
        count(Block, "part_at", _passed),
        _searching(count),
        _scanning(count),
        patch.object(Block, "text", property(text)),
    )
    for wrap in wraps:
        wrap.start()
    # It counts in C, several times as fast as a function of ours that is told of each call.
    calls = Profile(subcalls=False)
    calls.enable()
    try:
        yield count
    finally:
        calls.disable()
        for wrap in reversed(wraps):
            wrap.stop()
    count.total += sum(entry.callcount for entry in calls.getstats())


def _rewound(scan: Scanner, start: int, taken: list[str], fresh: bool, before: str) -> int:
    copied = len(scan.text) - scan.pos if start < scan.base else 0
    return copied + sum(map(len, taken))


def _passed(block: Block, offset: int) -> int:
    """How many parts lie after an offset."""
    taken, at = block.taken, block.offset
    number = 0
    while at > offset:
        number += 1
        at -= len(taken[-number])
    return number


def _searching(count: _Count) -> Any:
    find = Scanner.find

    def wrapped(scan: Scanner, markers: Any) -> Any:
        start, (end, hit) = scan.pos, find(scan, markers)
        count.total += (hit.end() if hit else end) - start
        return end, hit

    return patch.object(Scanner, "find", wrapped)


def _scanning(count: _Count) -> Any:
    feed = JsonScan.feed

    def wrapped(scan: JsonScan, text: str, at: int = 0) -> int:
        end = feed(scan, text, at)
        count.total += end - at
        return end

    return patch.object(JsonScan, "feed", wrapped)


class TooMuchWork(BaseException):
    """The limit was passed; no handler of what a parser raises catches this."""


@contextmanager
def at_most(calls: int) -> Generator[None, None, None]:
    """Allow so many calls of functions, of Python's and of C's, in this thread."""
    count = 0
    before = sys.getprofile()

    def counted(_: Any, event: str, __: Any) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1
            if count > calls:
                sys.setprofile(before)
                raise TooMuchWork(f"more than {calls} calls")

    sys.setprofile(counted)
    try:
        yield
    finally:
        sys.setprofile(before)
