"""What the view for a model costs: of a whole timeline, and of one block more.

The timelines are rounds of six blocks: notes, call, notice, digest and content of a file, result.
A block more is fed to a view that has been read before; reading it again must cost by what is new,
so the time of a step is shown beside the size of what was there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import cycle, islice

from bench.samples import prose
from bench.timing import best_of, print_table
from callblocks.core.blocks import Block, Entry
from callblocks.core.specs import ToolSpec
from callblocks.views.model_view.neutral import Neutral, restore
from callblocks.views.model_view.view import ModelView, render

__all__ = ("main",)

SIZES = (1_000, 10_000, 100_000)
STEPS = 200
BUDGET = 100_000
CROWDS = (1_000, 4_000, 16_000)
SMALL = 2_000
KILO = 1000
TOOLS = tuple(map(ToolSpec, ("ls", "file_read", "file_write", "search", "react.read")))
NEUTRAL = Neutral(TOOLS)


def main() -> None:
    """Print the tables."""
    print_table(
        "the view of a timeline, in milliseconds",
        ["blocks", "no budget", f"{BUDGET:,} tokens", "µs/block"],
        [_whole(size) for size in SIZES],
    )
    print_table(
        "one block more, and the view again, in microseconds",
        ["blocks before", "no budget", f"{BUDGET:,} tokens"],
        [_one_more(size) for size in SIZES],
    )
    print_table(
        f"a call with many things and a budget of {SMALL:,} tokens, in microseconds for each",
        ["things", "notices", "files", "foldings"],
        [_crowded(size) for size in CROWDS],
    )
    print_table(
        "neutral text, in MB/s",
        ["text of 1 MB", "neutralize", "restore", "signs"],
        [_neutral(label, text) for label, text in _texts().items()],
    )


def _whole(size: int) -> list[str]:
    entries = _timeline(size)
    rounds = max(1, 30_000 // size)
    free, held = best_of(
        [lambda: render(entries, tools=TOOLS), lambda: render(entries, budget=BUDGET, tools=TOOLS)],
        rounds=rounds,
    )
    return [f"{size:,}", f"{free * 1e3:,.0f}", f"{held * 1e3:,.0f}", f"{free / size * 1e6:.1f}"]


def _one_more(size: int) -> list[str]:
    """The mean of many steps: a step that folds the view is among them."""
    entries = _timeline(size + STEPS * 3)
    cells = [f"{size:,}"]
    for budget in (None, BUDGET):
        view = ModelView(budget=budget, tools=TOOLS)
        view.feed(entries[:size])
        view.parts()
        job = partial(_steps, view, iter(entries[size:]))
        (took,) = best_of([job], rounds=3)
        cells.append(f"{took / STEPS * 1e6:,.1f}")
    return cells


def _steps(view: ModelView, rest: Iterator[Entry]) -> None:
    for entry in islice(rest, STEPS):
        view.feed((entry,))
        view.parts()


def _crowded(size: int) -> list[str]:
    """One call with nothing but notices, then with nothing but files: it is the newest round."""
    _, _, notice, digest, *_ = _round(0)
    cells, foldings = [f"{size:,}"], list[str]()
    for block in (notice, digest):
        entries = [Entry(seq, block) for seq in range(1, size + 1)]
        (took,) = best_of(
            [lambda entries=entries: render(entries, budget=SMALL, tools=TOOLS)], rounds=1
        )
        view = ModelView(budget=SMALL, tools=TOOLS)
        view.feed(entries)
        cells.append(f"{took / size * 1e6:,.1f}")
        foldings.append(f"{view.generation:,}")
    return [*cells, " and ".join(foldings)]


def _neutral(label: str, text: str) -> list[str]:
    shown = NEUTRAL(text)
    there, back = best_of([lambda: NEUTRAL(text), lambda: restore(shown)], rounds=2)
    size = len(text) / 1e6
    signs = len(shown) - len(text)
    return [label, f"{size / there:,.1f}", f"{size / back:,.1f}", f"{signs:,}"]


def _texts() -> dict[str, str]:
    rows = json.dumps([{"id": 1, "name": "a", "tags": ["x", "y"]}], indent=2)
    page = '<p class="x">a &amp; b <tool>ls()</tool></p>\n'
    return {
        "prose": prose(1000 * KILO),
        "JSON over many lines": rows * (1000 * KILO // len(rows)),
        "HTML with markers": page * (1000 * KILO // len(page)),
        "nothing but markers": "\n```tool a\n<tool>" * (1000 * KILO // 17),
    }


def _timeline(size: int) -> list[Entry]:
    blocks = (block for number in range(size // 6 + 1) for block in _round(number))
    return [Entry(seq, block) for seq, block in enumerate(islice(blocks, size), 1)]


TEXTS = cycle([prose(400), prose(900), '{"rows": [1, 2, 3]}', "- one\n- two\n```py\nx = 1\n```\n"])


def _round(number: int) -> list[Block]:
    call, turn = f"c{number}", f"turn_{number // 50}"
    own, file = f"tc:{turn}.{call}.result", f"fi:{turn}.files/{call}.md"
    digest = json.dumps({"artifact_path": file, "mime": "text/markdown", "size_bytes": 400})
    rows = (
        ("react.notes", f"ar:{turn}.react.notes.{call}", "text/plain", "I look at the next one."),
        (
            "react.tool.call",
            f"tc:{turn}.{call}.call",
            "application/json",
            '{"params":{"q":"cats"}}',
        ),
        ("react.notice", f"tc:{turn}.{call}.notice", "application/json", '{"code":"x"}'),
        ("react.tool.result", own, "application/json", digest),
        ("react.tool.result", file, "text/markdown", next(TEXTS)),
        ("react.tool.result", own, "text/plain", next(TEXTS)),
    )
    return [
        Block(
            type=type,
            author="tool",
            turn_id=turn,
            ts="2030-01-31T12:00:00Z",
            mime=mime,
            path=path,
            call_id=call,
            tool_id="look",
            text=text,
            meta={"role": "digest"} if text == digest else {},
        )
        for type, path, mime, text in rows
    ]
