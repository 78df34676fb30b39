"""The README is short and begins with what to type; what a page tells to type exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from callblocks import dialects
from callblocks.core.extras import EXTRAS
from support.pages import PAGES, ROOT, code_blocks

README = ROOT / "README.md"
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def test_the_readme_is_under_150_lines() -> None:
    assert len(README.read_text("utf-8").splitlines()) < 150


def test_the_readme_begins_with_what_it_is_how_to_install_it_and_why() -> None:
    text = README.read_text("utf-8")
    title, what, install, sources, why, *_ = text.split("\n\n")
    assert title == "# callblocks"
    assert what.startswith("A language model")
    lines = [line.partition("#")[0].strip() for line in install.splitlines()]
    assert lines == ["pip install callblocks", "pip install 'callblocks[all]'"]
    assert all(extra in sources for extra in EXTRAS)
    assert "`make run`" in sources
    assert "`make test`" in sources
    assert why.startswith("**Why not a regular expression, or the server's own parser?**")


def test_the_figures_of_the_readme_are_those_of_the_pages() -> None:
    agree, cases = re.search(r"([\d,]+) of ([\d,]+) agree", _read("docs/conformance.md")).groups()  # pyright: ignore[reportOptionalMemberAccess]
    others = int(cases.replace(",", "")) - int(agree.replace(",", ""))
    text = " ".join(_read("README.md").split())
    assert f"Of {cases} cases from the test suites of other parsers" in text
    assert f"reads {agree} as they do, and each of the other {others} has its" in text
    assert f"any of {len(dialects)} dialects" in text


def test_the_readme_shows_a_chat_before_its_first_recipe() -> None:
    picture = next(code_blocks(README.read_text("utf-8").partition("\n## ")[0]))
    assert picture.language == "console"
    assert "🔧 3 tool calls, 1 failed" in picture.text


def test_the_readme_has_five_recipes_each_with_code_that_runs() -> None:
    recipes = README.read_text("utf-8").split("\n## ")[1:6]
    assert len(recipes) == 5
    for recipe in recipes:
        assert {block.language for block in code_blocks(recipe)} & {"python", "console"}, recipe


@pages
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    assert _named_targets(page) - _targets() == set()


def test_make_help_describes_every_target() -> None:
    described = re.findall(r"^([a-z-]+):.*## \S", _read("Makefile"), re.MULTILINE)
    assert set(described) == _targets()


@pages
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    folders = r"scripts|\.ci|tests|src|bench|examples"
    named = re.findall(
        rf"(?<![\w/.])((?:{folders})/[\w./-]*\w)(?![\w/<-])", page.read_text("utf-8")
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


def _read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def _targets() -> set[str]:
    """The targets of the Makefile that are not files."""
    phony = re.findall(r"^\.PHONY:(.*)$", _read("Makefile"), re.MULTILINE)
    return {target for line in phony for target in line.split()}


def _named_targets(page: Path) -> set[str]:
    """The targets in code of a page: `make x y`, or a line of a code block that runs make."""
    text = page.read_text("utf-8")
    commands = re.findall(r"`make ([^`\n]+)`", text)
    commands += re.findall(r"^[ \t]*(?:\$ )?make[ \t]+([^#\n]+)", _code(text), re.MULTILINE)
    words = {word for command in commands for word in command.split()}
    return {word for word in words if re.fullmatch(r"[a-z]+(?:-[a-z]+)*", word)}


def _code(text: str) -> str:
    """The code blocks of a Markdown text: fenced, and indented by four."""
    indented = re.findall(r"^ {4}.*$", text, re.MULTILINE)
    return "\n".join([*(block.text for block in code_blocks(text)), *indented])
