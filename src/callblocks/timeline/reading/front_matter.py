"""The front matter of a Markdown file: keys with their values, between two lines `---`.

    ---
    title: "Writing a PDF"
    imports: [public.fonts, public.layout]
    ---

Values are bare or quoted; several are a list in brackets, or lines that begin with `- `. This is
not YAML: nothing nests, and every value is text.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from callblocks.model.brief import brief

__all__ = ("split_front_matter",)

_FENCE = "---"
_LINE = re.compile(r"([A-Za-z_-]+)[ \t]*:(.*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")


def split_front_matter(text: str, keys: Collection[str]) -> tuple[dict[str, list[str]], str]:
    """Each key with its values, and the text after the front matter, with `\\n` after its lines.

    `ValueError`, saying why, if there is a front matter that cannot be read, or another key.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        return {}, "\n".join(lines)
    ends = (number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE)
    end = next(ends, None)
    if end is None:
        raise ValueError("the front matter has no end: write --- on a line of its own after it")
    return _fields(lines[1:end], keys), "\n".join(lines[end + 1 :])


def _fields(lines: list[str], keys: Collection[str]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    values: list[str] | None = None
    for line in filter(_says_something, lines):
        item, pair = _ITEM.fullmatch(line), _LINE.fullmatch(line)
        # A list item belongs to the last key; before the first key it is a fault.
        if item and values is not None:
            values.append(_bare(item[1]))
        elif pair and pair[1] in keys:
            values = fields[pair[1]] = _values(pair[2].strip())
        else:
            known = ", ".join(keys)
            raise ValueError(f"the front matter may say {known}, and nothing like {brief(line)}")
    return fields


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _values(text: str) -> list[str]:
    listed = text.startswith("[") and text.endswith("]")
    items = text[1:-1].split(",") if listed else [text]
    return [bare for item in items if (bare := _bare(item))]


def _bare(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text
