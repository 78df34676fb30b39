"""Links lead somewhere, and every page can be found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.pages import PAGES, ROOT, prose

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in _links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.is_file(), f"{link}: no such file"
        if anchor:
            assert anchor in _anchors(target), f"{link}: no such heading"


def test_every_page_of_docs_is_linked_from_its_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in _links(index)}
    pages = {page for page in PAGES if page.is_relative_to(index.parent)}
    assert pages - linked - {index} == set()


def test_decisions_are_numbered_without_gaps_and_fit_on_a_page() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(path.name.partition("-")[0]) for path in decisions]
    assert numbers == list(range(1, len(decisions) + 1))
    for path in decisions:
        text = path.read_text("utf-8")
        assert len(text.splitlines()) <= 60, path
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Choice", "Price"], path


def _links(page: Path) -> list[str]:
    return LINK.findall(prose(page.read_text("utf-8")))


def _anchors(page: Path) -> set[str]:
    """The headings of a page, spelled as links spell them."""
    headings = re.findall(r"^#+ (.*)$", prose(page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
