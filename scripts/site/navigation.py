"""The navigation of the site: the pages of docs/, in the sections of docs/index.md."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

__all__ = ("CODE", "CONTRIBUTING", "DOCS", "LINK", "ROOT", "navigation", "paths")

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# The one page outside of docs/ that the site has.
CONTRIBUTING = "contributing.md"

# A fenced block, or code in a line.
CODE = (
    r"^(?P<fence>`{3,})[^`\n]*\n(?s:.*?)^(?P=fence)`*[ \t]*$"
    r"|(?<!`)(?P<ticks>`+)(?!`)(?s:.+?)(?<!`)(?P=ticks)(?!`)"
)
LINK = r"\[(?P<text>[^\[\]]*)\]\((?P<target>[^)\s]+)\)"

# A page, or a section with its pages.
Entry = str | dict[str, list["Entry"]]


def navigation(index: str) -> list[Entry]:
    """Return the sections of the index that name pages; a page belongs to the first of them.

    The pages of a folder `x/` are a section of their own where the page `x.md` stands: they follow
    it there.
    """
    seen = {"index.md"}
    entries: list[Entry] = ["index.md"]
    for section in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        pages = [page for page in dict.fromkeys(_pages(body)) if page not in seen]
        seen.update(pages)
        if pages:
            entries.append({title: _with_folders(pages)})
    return [*entries, CONTRIBUTING]


def paths(entries: list[Entry]) -> list[str]:
    """Return the pages of a navigation, in order."""
    found: list[str] = []
    for entry in entries:
        if isinstance(entry, str):
            found.append(entry)
        else:
            found += [path for inner in entry.values() for path in paths(inner)]
    return found


def _pages(text: str) -> list[str]:
    without_code = re.sub(
        CODE, lambda code: "" if code["fence"] else "code", text, flags=re.MULTILINE
    )
    targets = [link["target"].partition("#")[0] for link in re.finditer(LINK, without_code)]
    return [target for target in targets if target.endswith(".md") and "://" not in target]


def _with_folders(pages: list[str]) -> list[Entry]:
    heads = [page for page in pages if any(_head(other) == page for other in pages)]
    entries: list[Entry] = []
    for page in pages:
        if page in heads:
            title = PurePosixPath(page).stem.capitalize()
            entries.append({title: [page, *(other for other in pages if _head(other) == page)]})
        elif _head(page) not in heads:
            entries.append(page)
    return entries


def _head(page: str) -> str:
    return f"{PurePosixPath(page).parent}.md"
