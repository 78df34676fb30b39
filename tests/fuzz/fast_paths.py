"""Read random texts with the fast paths and without them, in any pieces: the events are the same.

    PYTHONPATH=src:tests python tests/fuzz/fast_paths.py --seconds 600 --seed 1

The texts are rows of markers, fragments of the corpus, whole cases and code of real kinds. Without
the fast paths, each character is read by the general readers: no arguments are decoded at one go or
wait for their end, no opener is skipped, fences are read by a second parser, YAML by libyaml, and
the table of all openers is searched in full.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from random import Random
from time import monotonic
from typing import Any
from unittest.mock import patch

from callblocks import ToolSpec
from callblocks.core.events import Event
from callblocks.dialects import dialects
from callblocks.parsing import loop
from callblocks.parsing.engine import openers, unread
from callblocks.parsing.readers import row
from callblocks.parsing.values import yaml_core
from support.corpus import all_cases, fragments
from support.soup import COMMON, FENCED, PARTS, markers
from support.text_pieces import NAMES, alike, cut, read

STRING = {"type": "string"}
TOOLS = (
    ToolSpec("ls", "", {"properties": {"a": {"type": "integer"}, "path": STRING}}),
    ToolSpec("get_weather", "", {"properties": {"city": STRING}}),
)
MARKUP = (
    *("<p>", "<b>", "<ls>", "</ls>", "<path>x</path>", "</p>", "<br/>", "<code>", "</code>", "`"),
    *('<div class="x">', "<use_mcp_tool>", "< p>", "<tooltip>", "<p><", "\n```html\n", "\n```\n"),
    *("from x import y\n", "print(x)\n", '{"id": 1, "name": "x"}\n', '\n{"name": "x", "k": 1}'),
    *('{"name": "ls", "arguments": {"a": 1}}', "ls(a=1)\n", "city: Oslo\n", "\\\\frac{a}{b}"),
)
USUAL = openers.choose
FULL = lru_cache(maxsize=1024)(openers.choose.__wrapped__)


def no_fence(*_: object) -> Iterator[None]:
    """Leave each line of a fence to its readers."""
    return False
    yield


@contextmanager
def general_readers() -> Iterator[None]:
    """Read without the fast paths."""
    with ExitStack() as patches:
        for owner, name, value in (
            (row, "_SHORT", 0),
            (row.CallObject, "_whole", lambda _: ""),
            (loop, "_MOST_GLANCED", 0),
            (loop, "choose", FULL),
            (loop.Engine, "is_prose", lambda *_: False),
            (openers, "_MANY", sys.maxsize),
            (unread.ProseLog, "is_plain", lambda *_: False),
            (loop.Engine, "_pass_fence", no_fence),
            (unread._Names, "_may_be_misspelt", lambda *_: True),  # pyright: ignore[reportPrivateUsage]
            (yaml_core, "read_plain", lambda *_: None),
        ):
            patches.enter_context(patch.object(owner, name, value))
        yield


def pieces_of(text: str, random: Random) -> list[str]:
    """Cut a text in one of several ways."""
    size = random.choice((1, 3, 4, 16, 0, -1))
    if size > 0:
        return [text[at : at + size] for at in range(0, len(text), size)]
    places = [random.randint(0, len(text)) for _ in range(5)] if size else []
    return cut(text, places)


def make_text(parts: Sequence[str], random: Random) -> str:
    """Return a row of parts; some are broken off."""
    chosen = random.choices(parts, k=random.randint(1, 24))
    text = "".join(
        part if random.random() < 0.9 else part[: random.randint(1, 6)] for part in chosen
    )
    return text.replace("\n", "\r\n") if random.random() < 0.1 else text


def make_options(random: Random) -> dict[str, Any]:
    """Return options of a parser."""
    options: dict[str, Any] = {"tools": TOOLS} if random.random() < 0.6 else {}
    if random.random() < 0.2:
        options["in_code_fences"] = random.choice((True, False, "whole"))
    if random.random() < 0.1:
        options["strict"] = True
    return options


def main() -> None:
    """Read until the time is over; a text that is read in two ways ends the program."""
    wanted = argparse.ArgumentParser(prog="fast_paths")
    wanted.add_argument("--seconds", type=float, default=60)
    wanted.add_argument("--seed", type=int, default=1)
    given = wanted.parse_args()
    random, end, count = Random(given.seed), monotonic() + given.seconds, 0
    cases = [case.text for case in all_cases() if len(case.text) < 4000]
    own = {name: (*markers(name), *(PARTS.get(name) or fragments(name)) * 4) for name in dialects}
    while monotonic() < end:
        dialect = random.choice(NAMES) if random.random() < 0.7 else "auto"
        source = own[random.choice([*dialects]) if dialect == "auto" else dialect]
        parts = (*source, *COMMON * 2, *MARKUP * 2, *(FENCED if random.random() < 0.3 else ()))
        text = random.choice(cases) if random.random() < 0.2 else make_text(parts, random)
        pieces, options = pieces_of(text, random), make_options(random)
        fast: list[Event] = read(dialect, pieces, **options)
        with general_readers():
            slow = read(dialect, pieces, **options)
        if not alike(fast, slow):
            sys.exit(f"{dialect} {options} reads {pieces!r} in two ways:\n{fast}\n{slow}")
        count += 1
    sys.stdout.write(f"{count:,} texts, all read alike\n")


if __name__ == "__main__":
    main()
