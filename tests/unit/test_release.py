"""What must agree when a version is released."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import callblocks
from callblocks.core.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_newest_version_of_the_changelog_is_the_version() -> None:
    headings = re.findall(r"^## \[?(\d[^\s\]]*)", _read("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == callblocks.__version__


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]


def test_the_dependencies_are_what_the_sources_import() -> None:
    declared = {_normal(requirement) for requirement in _wanted(*EXTRAS)}
    distributions = packages_distributions()
    foreign = _imported() - set(sys.stdlib_module_names) - {"callblocks"}
    imported = {_normal(_one_of(distributions[name], declared)) for name in foreign}
    # Uvicorn uses the first where it is there; trafilatura needs the second.
    unseen = {"uvloop", "lxml-html-clean"}
    # The parts of OpenTelemetry share one package: whichever is found stands for all.
    parts = {name for name in declared if name.startswith("opentelemetry-")}
    assert imported & parts
    assert imported - parts == declared - unseen - parts


def test_every_dependency_is_pinned() -> None:
    pinned = {
        _normal(line) for line in re.findall(r"^[\w.-]+(?===)", _read("constraints.txt"), re.M)
    }
    wanted = _wanted(*PROJECT["optional-dependencies"])
    assert {_normal(requirement) for requirement in wanted} <= pinned


def _wanted(*extras: str) -> list[str]:
    """What the base and these extras require, without callblocks itself."""
    optional = PROJECT["optional-dependencies"]
    every = [*PROJECT["dependencies"], *(entry for extra in extras for entry in optional[extra])]
    return [entry for entry in every if not entry.startswith("callblocks[")]


def test_pins_are_names_and_versions_only() -> None:
    lines = [line for line in _read("constraints.txt").splitlines() if line and line[0] != "#"]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.+!]+", line)] == []


def _read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def _one_of(distributions: list[str], declared: set[str]) -> str:
    """The distribution that a package is of; `google` is shared by several."""
    return next((name for name in distributions if _normal(name) in declared), distributions[0])


def _normal(requirement: str) -> str:
    """The name that a requirement or a distribution goes by, spelled one way."""
    name = re.match(r"[\w.-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def _imported() -> set[str]:
    """The top-level packages that our sources import anywhere, in functions too.

    Not those of adapters: a framework has the version that its user chose.
    """
    names: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        if path.parent.name == "adapters":
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                names.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names


def test_no_pattern_has_a_possessive_group() -> None:
    """Python before 3.11.5 reads such a group wrongly, and 3.11 is enough for us."""
    group = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")
    for path in sorted((ROOT / "src").rglob("*.py")):
        found = [line for line in path.read_text().splitlines() if group.search(line)]
        assert found == [], path
