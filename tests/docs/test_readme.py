"""The README is short, and what it tells a newcomer to type exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_the_readme_is_under_150_lines() -> None:
    assert len(README.read_text("utf-8").splitlines()) < 150


def test_the_readme_names_the_targets_that_a_newcomer_needs() -> None:
    assert {"run", "test"} <= _named_targets()


def test_every_make_target_that_the_readme_names_exists() -> None:
    assert _named_targets() - _targets() == set()


def test_make_help_describes_every_target() -> None:
    described = re.findall(r"^([a-z]+):.*## \S", _read("Makefile"), re.MULTILINE)
    assert set(described) == _targets()


def test_the_scripts_that_the_readme_names_exist() -> None:
    named = re.findall(r"(?<![\w/.])((?:scripts|\.ci)/[\w.-]+)", README.read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def _read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def _targets() -> set[str]:
    """The targets of the Makefile that are not files."""
    phony = re.findall(r"^\.PHONY:(.*)$", _read("Makefile"), re.MULTILINE)
    return {target for line in phony for target in line.split()}


def _named_targets() -> set[str]:
    """The targets in code of the README: `make x y`, or a line of a code block that runs make."""
    text = README.read_text("utf-8")
    commands = re.findall(r"`make ([^`\n]+)`", text)
    commands += re.findall(r"^[ \t]*(?:\$ )?make[ \t]+([^#\n]+)", _code(text), re.MULTILINE)
    return {word for command in commands for word in command.split() if word.isalpha()}


def _code(text: str) -> str:
    """The code blocks of a Markdown text: fenced, and indented by four."""
    fenced = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^ {4}.*$", text, re.MULTILINE)
    return "\n".join([*fenced, *indented])
