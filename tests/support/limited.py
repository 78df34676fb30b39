"""Work within a limit: calls of functions are counted, and one too many ends the test.

A parser that runs away would take minutes and gigabytes. The count ends it where it stands, so a
test that fails does so at once; nothing here looks at a clock.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

__all__ = ("TooMuchWork", "at_most")


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
