"""The site has every page of the documentation, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import runpy
import tomllib
from typing import Any

from support.pages import ROOT

SITE = ROOT / "scripts" / "site"
NAVIGATION = runpy.run_path(str(SITE / "navigation.py"))


def test_every_page_of_docs_is_in_the_navigation_once() -> None:
    docs = ROOT / "docs"
    pages = sorted(page.relative_to(docs).as_posix() for page in docs.rglob("*.md"))
    assert sorted(NAVIGATION["paths"](_entries())) == sorted([*pages, "contributing.md"])


def test_tasks_transcripts_and_decisions_are_sections() -> None:
    entries = _entries()
    assert entries[0] == "index.md"
    sections = {title: pages for entry in entries[1:-1] for title, pages in entry.items()}
    for title in ("Transcripts", "Decisions"):
        assert {page.partition("/")[0] for page in sections[title]} == {title.lower()}
    assert "tasks/see-it-run.md" in sections["Tasks"]


def test_pages_of_a_folder_follow_the_page_that_has_its_name() -> None:
    one = "## One\n\n- [a](a.md), [b](a/b.md), `[no](no.md)`\n"
    index = f"# x\n\n{one}\n## Two\n\n[a](a.md), [c](c.md#d)\n"
    assert NAVIGATION["navigation"](index) == [
        "index.md",
        {"One": [{"A": ["a.md", "a/b.md"]}]},
        {"Two": ["c.md"]},
        "contributing.md",
    ]


def test_the_configuration_names_no_host() -> None:
    for name in ("zensical.toml", "site.css", "file-worker.js"):
        assert not re.search(r"https?:|[\"'(]//\w", (SITE / name).read_text("utf-8")), name
    project = tomllib.loads((SITE / "zensical.toml").read_text("utf-8"))["project"]
    assert project["theme"]["font"] is False
    assert not {"site_url", "repo_url", "extra_javascript"} & project.keys()


def _entries() -> list[Any]:
    return NAVIGATION["navigation"]((ROOT / "docs" / "index.md").read_text("utf-8"))
