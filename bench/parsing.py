"""How fast each dialect reads text in pieces of four characters, and how that grows.

The pass-through does nothing but hand each piece on as a `Text` event with its span. It is
fed the same pieces in the same run.
"""

from __future__ import annotations

from itertools import pairwise

from bench.samples import many_calls, one_call, prose
from bench.timing import best_of, print_table
from callblocks import Parser, dialects
from callblocks.model.events import Event, Text

__all__ = ("main",)

PIECE = 4
KILO = 1000


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
    """Print both tables."""
    names = [*dialects, "auto"]
    head = ["text", "pieces", "total ms", "µs/piece", "pass-through", "ratio"]
    for name in names:
        writer = "emoji-bracket" if name == "auto" else name
        texts = {"prose 50 KB": prose(50 * KILO)}
        texts |= {
            f"one call {size} KB": one_call(writer, size * KILO) for size in (1, 10, 100, 1000)
        }
        texts["1,000 small calls"] = many_calls(writer, 1000)
        print_table(name, head, [_row(name, label, text) for label, text in texts.items()])
    sizes = [125, 250, 500, 1000]
    steps = [f"{small}→{large} KB" for small, large in pairwise(sizes)]
    rows = [row for name in names for row in _growth(name, sizes)]
    print_table("growth per doubling (2.0 is linear)", ["dialect and text", *steps], rows)


def _row(dialect: str, label: str, text: str) -> list[str]:
    pieces = _cut(text)
    ours, bare = best_of(
        [lambda: _read(Parser(dialect), pieces), lambda: _read(PassThrough(), pieces)],
        rounds=max(5, 1_000_000 // len(text)),
    )
    each, alone = (seconds / len(pieces) * 1e6 for seconds in (ours, bare))
    return [
        label,
        f"{len(pieces):,}",
        f"{ours * 1e3:,.1f}",
        f"{each:.3f}",
        f"{alone:.3f}",
        f"{ours / bare:.2f}",
    ]


def _growth(dialect: str, sizes: list[int]) -> list[list[str]]:
    writer = "emoji-bracket" if dialect == "auto" else dialect
    rows: list[list[str]] = []
    for label, make in (("prose", prose), ("one call", lambda size: one_call(writer, size))):
        texts = [_cut(make(size * KILO)) for size in sizes]
        times = best_of([lambda t=t: _read(Parser(dialect), t) for t in texts], rounds=5)
        rows.append([f"{dialect}, {label}", *(f"{b / a:.2f}" for a, b in pairwise(times))])
    return rows


def _cut(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def _read(parser: Parser | PassThrough, pieces: list[str]) -> None:
    for piece in pieces:
        parser.feed(piece)
    parser.close()
