"""The cases of the corpus: texts, options of the parser, and what laws begin with.

A case is `<case>.txt` in a folder named as the dialect. Options of the parser stand in
`<case>.json` beside it, over those of the folder's `options.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from callblocks import Limits
from callblocks.core.specs import read_specs

__all__ = ("CASES", "CORPUS", "cases_of", "content", "fragments", "naming", "options", "texts_of")

CORPUS = Path(__file__).parent.parent / "corpus"
CASES = sorted(CORPUS.glob("*/*.txt"))
_READERS = {
    "tools": read_specs,
    "reasoning": lambda pairs: tuple(map(tuple, pairs)),
    "in_reasoning": bool,
    "limits": lambda limits: Limits(**limits),
    "in_code_fences": bool,
    "strict": bool,
    "model": str,
}


def content(path: Path) -> str:
    """A file as it is, line ends and all."""
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


@contextmanager
def naming(path: Path) -> Generator[None]:
    """Name the case in whatever fails here: one test goes through many."""
    try:
        yield
    except Exception as error:
        error.add_note(f"The case is {path.relative_to(CORPUS)}.")
        raise


def options(path: Path) -> dict[str, Any]:
    """How a case is to be read."""
    given = _read(path.with_name("options.json")) | _read(path.with_suffix(".json"))
    return {name: _READERS[name](value) for name, value in given.items()}


@cache
def _read(path: Path) -> dict[str, Any]:
    return json.loads(content(path)) if path.exists() else {}


@cache
def cases_of(dialect: str) -> tuple[Path, ...]:
    """The cases of a dialect."""
    return tuple(path for path in CASES if path.parent.name == dialect)


@cache
def texts_of(dialect: str) -> tuple[str, ...]:
    """The texts of a dialect's cases."""
    texts = (case.read_bytes() for case in cases_of(dialect))
    return tuple(text.decode("utf-8", "surrogatepass") for text in texts)


@cache
def fragments(dialect: str) -> tuple[str, ...]:
    """Tags, words, blanks and marks of a dialect's cases: what a random text of it is made of."""
    found = (
        part
        for text in texts_of(dialect)
        for part in re.findall(r"<[^<>\n]*>|\w+|\s+|[^\w\s]+", text)
    )
    return tuple(dict.fromkeys(found))[:200]
