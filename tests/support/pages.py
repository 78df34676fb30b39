"""The pages of the documentation, and the code blocks in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ("PAGES", "ROOT", "CodeBlock", "code_blocks", "prose")

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^(`{3,})([^`\n]*)\n(.*?)^\1`*[ \t]*$", re.MULTILINE | re.DOTALL)


class CodeBlock(NamedTuple):
    """A fenced block: its language, its text, and the number of its first line.

    `follows` says that nothing but blank lines parts it from the block before.
    """

    language: str
    text: str
    line: int
    follows: bool


def code_blocks(page: str) -> Iterator[CodeBlock]:
    """The fenced blocks of a page, in order."""
    end = 0
    for found in _BLOCK.finditer(page):
        line = page.count("\n", 0, found.start(3)) + 1
        follows = end > 0 and not page[end : found.start()].strip()
        yield CodeBlock(found[2].strip(), found[3], line, follows)
        end = found.end()


def prose(page: str) -> str:
    """A page without its code, fenced and inline."""
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", _BLOCK.sub("", page))
