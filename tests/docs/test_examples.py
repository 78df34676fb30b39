"""Every example of the documentation runs, and says what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.examples import Examples
from support.fork_server import serving
from support.pages import PAGES, ROOT, code_blocks

README = ROOT / "README.md"
# `py` is Python that needs a gateway: test_client_pages.py runs it.
SHOWN = {"sh", "markdown", "json", "toml", "yaml", "js", "html", "nginx", "py"}
LANGUAGES = {"python", "console", "text"} | SHOWN


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("programs")
    with serving(folder):
        yield folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_runs_and_says_what_is_shown(
    page: Path, tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A reader stands in the project's folder; what an example writes does not land there.
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    # The commands of one page are the installed program; those of the others start faster.
    Examples(page, tmp_path, programs if page != README else None).run()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_code_block_says_what_it_is(page: Path) -> None:
    text = page.read_text("utf-8")
    assert {block.language for block in code_blocks(text)} <= LANGUAGES


def test_every_line_of_a_console_block_belongs_to_a_command() -> None:
    blocks = [block for page in PAGES for block in code_blocks(page.read_text("utf-8"))]
    consoles = [block.text for block in blocks if block.language == "console"]
    assert [text for text in consoles if not text.startswith("$ ")] == []
