"""How fast each dialect reads text, in pieces of four characters and more, and how that grows.

The pass-through does nothing but hand each piece on as a `Text` event with its span. It is
fed the same pieces in the same run.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

from bench.samples import (
    CODE,
    TOOL,
    code,
    many_calls,
    mixed,
    one_call,
    program,
    prose,
    thought,
    tools_of,
)
from bench.timing import best_of, print_table
from callblocks import Parser, ToolSpec, dialects
from callblocks.core.events import Event, Text

__all__ = ("every", "first", "in_prose", "main", "peers", "real", "runs")

PIECE = 4
PIECES = (4, 16, 64)
KILO = 1000
SIZES = (50, 100, 200)
FULL = ("tool-fence", "scissors-cat", "chat-blocks", "emoji-bracket")
"""Dialects that are looked at more closely."""
RATIO = 4.0
CODE_RATIO = 6.0
PROGRAM_RATIO = 5.0
UNBOUNDED = {
    "JSON lines": ("scissors-cat", "hermes", "poolside_v1", "pythonic", "llama3_json", "xlam"),
    "Markdown": ("tool-fence", "gptme", "smolagents_code", "xlam"),
    "HTML": ("chat-blocks", "cline", "morph_xml", "yaml_xml"),
    "braces": ("hermes", "llama3_json", "openai_json_text", "generic_json"),
}
"""Code that is full of a dialect's openers: a block is read at each. `auto` has the openers of all.

What that costs is printed, and no bound is promised for it.
"""
GROWTH = 2.2
RUNS = ("{", "[", "<", "`", '"', "\\")
RUN = 0.5
"""What a character of a run of brackets or quotes may cost, in µs."""
FIRST = """
from time import process_time
from callblocks import parse
began = process_time()
parse('Hello.\\n<tool_call>\\n{"name": "ls", "arguments": {}}\\n</tool_call>\\n')
print(process_time() - began)
"""
"""The first text that a process reads with `auto`."""


class PassThrough:
    """Hands every piece on."""

    def __init__(self) -> None:
        self._at = 0

    def feed(self, piece: str) -> list[Event]:
        """Say the piece."""
        start = self._at
        self._at = end = start + len(piece)
        return [Text(piece, (start, end))]

    def close(self) -> list[Event]:
        """Nothing waits."""
        return []


def main() -> None:
    """Print the tables."""
    for name in (*FULL, "auto"):
        writer = _writer(name)
        texts = {"prose 50 KB": prose(50 * KILO)}
        texts |= {f"one call {size} KB": one_call(writer, size * KILO) for size in (10, 1000)}
        texts["1,000 small calls"] = many_calls(writer, 1000)
        head = ["text", "pieces", "total ms", "µs/piece", "pass-through", "ratio"]
        print_table(name, head, [_row(name, label, text) for label, text in texts.items()])
    every()
    in_prose()
    runs()
    real()
    peers()
    first()


def every() -> None:
    """One row for each dialect: what a call costs against the pass-through, and how it grows.

    A thought is read with a declared tool: calls in it are then looked for.
    """
    steps = [f"{small}→{large} KB" for small, large in pairwise(SIZES)]
    head = ["one call in pieces of four", "1 KB", "100 KB", "prose", "thought", *steps, "within"]
    bounds = [f"at most {RATIO:g}", *[f"{RATIO:g}"] * 3, *[f"{GROWTH:g}"] * len(steps), ""]
    rows = [_summary(name) for name in (*dialects, "auto")]
    print_table("every dialect against the pass-through", head, [["bounds", *bounds], *rows])


def _summary(dialect: str) -> list[str]:
    writer = _writer(dialect)
    texts = [*(one_call(writer, size * KILO) for size in (1, 100)), prose(10 * KILO)]
    ratios = [ours / bare for ours, bare in (_times(dialect, text) for text in texts)]
    thoughts = _thought_ratio(dialect)
    grown = [_cut(one_call(writer, size * KILO)) for size in SIZES]
    times = best_of([partial(_read_as, dialect, pieces) for pieces in grown], rounds=12)
    growth = [large / small for small, large in pairwise(times)]
    well = max(*ratios, thoughts or 0) <= RATIO and max(growth) <= GROWTH
    shown = [f"{each:.2f}" if each else "" for each in (*ratios, thoughts, *growth)]
    return [dialect, *shown, "yes" if well else "NO"]


def _thought_ratio(dialect: str) -> float | None:
    """What a thought of 100 KB costs with a declared tool; None where there are no thoughts."""
    text = thought("hermes" if dialect == "auto" else dialect, 100 * KILO)
    if not text:
        return None
    ours, bare = _times(dialect, text, (TOOL,))
    return ours / bare


def in_prose() -> None:
    """One row for each dialect: what code costs that stands in a text as prose, with a tool.

    A star marks a figure without a bound.
    """
    head = ["10 KB of code as prose, in pieces of four", *CODE, "within"]
    bounds = [f"at most {CODE_RATIO:g}", *[f"{CODE_RATIO:g}"] * (len(CODE) - 1), ""]
    rows = [_code_summary(name) for name in (*dialects, "auto")]
    print_table("code as prose against the pass-through", head, [["bounds", *bounds], *rows])
    print("* no bound: such code is full of the dialect's openers")


def _code_summary(dialect: str) -> list[str]:
    times = {kind: _times(dialect, code(kind, 10 * KILO), (TOOL,)) for kind in CODE}
    ratios = {kind: ours / bare for kind, (ours, bare) in times.items()}
    free = {kind for kind, names in UNBOUNDED.items() if dialect in (*names, "auto")}
    well = max(ratio for kind, ratio in ratios.items() if kind not in free) <= CODE_RATIO
    shown = [f"{ratio:.2f}{'*' * (kind in free)}" for kind, ratio in ratios.items()]
    return [dialect, *shown, "yes" if well else "NO"]


def runs() -> None:
    """One row for each dialect: what a character costs in a run of one character, with a tool."""
    head = ["20 KB of one character, µs each, in pieces of four", *RUNS, "within"]
    rows = [["bounds", *[f"{RUN:g}"] * len(RUNS), ""]]
    for dialect in (*dialects, "auto"):
        text = {char: _cut(char * (20 * KILO)) for char in RUNS}
        jobs = [partial(_read_with, dialect, (TOOL,), pieces) for pieces in text.values()]
        costs = [seconds / (20 * KILO) * 1e6 for seconds in best_of(jobs, rounds=2)]
        rows.append([dialect, *(f"{cost:.2f}" for cost in costs), _yes(max(costs) <= RUN)])
    print_table("runs of one character", head, rows)


def first() -> None:
    """Print what the first text costs that a process reads with `auto`."""
    command = [sys.executable, "-c", FIRST]
    times = [float(subprocess.check_output(command, text=True)) for _ in range(5)]
    print(f"\nthe first text with auto: {min(times) * 1000:.0f} ms")


def _yes(well: bool) -> str:
    return "yes" if well else "NO"


def real() -> None:
    """One row for each dialect: real kinds of texts, in pieces and whole, and small calls.

    The pass-through costs the same for a piece of any size, so ratios grow with the pieces: what a
    character costs falls all the same. Beside them stands what a regex with `json.loads` takes.
    """
    head = ["a program as argument, 1,000 small calls, a chat", *(f"in {n}" for n in PIECES)]
    head += [f"µs a call in {PIECE}", "whole", "chat whole, MB/s", "within"]
    bounds = [f"at most {PROGRAM_RATIO:g}", "", "", "", "", "", ""]
    rows = [_real_summary(name) for name in (*dialects, "auto")]
    print_table("real kinds of texts", head, [["bounds", *bounds], *rows])
    others = [["regex and json.loads", *_speed(_read_by_regex, mixed("hermes", 200))]]
    print_table("others, on the same chat", ["", "MB/s", "µs a call"], others)


def peers() -> None:
    """Print one row for each text: OpenAI's compiled parser of gpt_oss beside ours, in one run.

    It reads tokens, and the time in which a text becomes tokens is left out. Ours reads pieces of
    as many characters. It must be installed, with its vocabulary in `TIKTOKEN_ENCODINGS_BASE`.
    """
    if (harmony := _harmony()) is None:
        return
    encoding, parser, role = harmony
    texts = {f"one call {size} KB": one_call("gpt_oss", size * KILO) for size in (1, 100)}
    texts |= {"a program": program("gpt_oss", 20 * KILO)}
    texts |= {"1,000 small calls": many_calls("gpt_oss", 1000)}
    rows: list[list[str]] = []
    for label, text in texts.items():
        tokens = encoding.encode(text, allowed_special="all")
        pieces = _cut(text, max(1, round(len(text) / len(tokens))))

        def read(tokens: list[int] = tokens) -> None:
            stream = parser(encoding, role)
            for token in tokens:
                stream.process(token)

        jobs = [read, partial(_read_as, "gpt_oss", pieces), partial(_read_as, "gpt_oss", [text])]
        times = best_of(jobs, rounds=5)
        rows.append([label, *(f"{seconds * 1000:.2f}" for seconds in times)])
    head = ["gpt_oss, ms", "openai-harmony, tokens", "callblocks, pieces", "callblocks, whole"]
    print_table("OpenAI's own parser", head, rows)


def _real_summary(dialect: str) -> list[str]:
    writer = _writer(dialect)
    text, calls, chat = program(writer, 20 * KILO), many_calls(writer, 1000), mixed(writer, 50)
    tools = tools_of(writer)
    ratios = [ours / bare for ours, bare in (_times(dialect, text, size=n) for n in PIECES)]
    jobs = [
        partial(_read_with, dialect, tools, _cut(calls)),
        partial(_read_with, dialect, tools, [calls]),
    ]
    jobs.append(partial(_read_with, dialect, tools, [chat]))
    in_pieces, whole, in_chat = best_of(jobs, rounds=5)
    shown = [f"{ratio:.2f}" for ratio in ratios]
    shown += [f"{seconds * KILO:.1f}" for seconds in (in_pieces, whole)]
    well = ratios[0] <= PROGRAM_RATIO
    return [dialect, *shown, f"{len(chat) / in_chat / 1e6:.1f}", "yes" if well else "NO"]


def _read_by_regex(text: str) -> int:
    """Find calls of `hermes` as a few lines of anybody's code do; return their number."""
    found = re.findall(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", text, re.DOTALL)
    return len([json.loads(one) for one in found])


def _harmony() -> tuple[Any, Any, Any] | None:
    """Return the encoding, the parser and the role of OpenAI's own package; None without it."""
    try:
        harmony = import_module("openai_harmony")
        encoding = harmony.load_harmony_encoding("HarmonyGptOss")
    except ImportError:
        return None
    except Exception as error:  # its vocabulary cannot be had
        print(f"openai-harmony: {error}")
        return None
    return encoding, harmony.StreamableParser, harmony.Role.ASSISTANT


def _speed(read: Callable[[str], object], text: str) -> list[str]:
    (seconds,) = best_of([partial(read, text)], rounds=5)
    return [f"{len(text) / seconds / 1e6:.1f}", f"{seconds / 200 * 1e6:.1f}"]


def _row(dialect: str, label: str, text: str) -> list[str]:
    ours, bare = _times(dialect, text)
    pieces = len(text) / PIECE
    each, alone = (seconds / pieces * 1e6 for seconds in (ours, bare))
    figures = (f"{pieces:,.0f}", f"{ours * 1e3:,.1f}", f"{each:.3f}", f"{alone:.3f}")
    return [label, *figures, f"{ours / bare:.2f}"]


def _times(
    dialect: str, text: str, tools: tuple[ToolSpec, ...] | None = None, size: int = PIECE
) -> tuple[float, float]:
    """What a reading costs, and what handing each piece on costs."""
    pieces = _cut(text, size)
    rounds = min(500, max(5, 500_000 // len(text)))
    # What a piece costs is asked here; a parser is made once for a text.
    tools = tools_of(_writer(dialect)) if tools is None else tools
    parsers = [Parser(dialect, tools=tools) for _ in range(rounds)]
    jobs = [lambda: _read(parsers.pop(), pieces), lambda: _read(PassThrough(), pieces)]
    ours, bare = best_of(jobs, rounds)
    return ours, bare


def _writer(dialect: str) -> str:
    return "emoji-bracket" if dialect == "auto" else dialect


def _read_as(dialect: str, pieces: list[str]) -> None:
    _read_with(dialect, tools_of(_writer(dialect)), pieces)


def _read_with(dialect: str, tools: tuple[ToolSpec, ...], pieces: list[str]) -> None:
    _read(Parser(dialect, tools=tools), pieces)


def _cut(text: str, size: int = PIECE) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _read(parser: Parser | PassThrough, pieces: list[str]) -> None:
    for piece in pieces:
        parser.feed(piece)
    parser.close()
