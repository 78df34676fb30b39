"""The transcripts under examples/, and random cuts of a text."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_file())


def cut(text: str, places: list[int]) -> list[str]:
    """The pieces of a text that is cut at places, taken modulo its length."""
    marks = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(marks)]


places = st.lists(st.integers(0, 100_000), max_size=20)
