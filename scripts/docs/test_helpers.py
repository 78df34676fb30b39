"""The table of tests/support: each module, what it gives, and which tests use it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from page_text import code, table

__all__ = ("support_table",)

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests" / "support"
_USE = re.compile(r"\bsupport\.(\w+)|^from support import (.+)$", re.MULTILINE)


def support_table() -> str:
    """Return a row for each module and package of tests/support, in the order of their names."""
    paths = [path for path in SUPPORT.iterdir() if path.suffix == ".py" or _is_package(path)]
    rows = [
        [code(path.stem), _first_line(path), _users(path.stem)]
        for path in sorted(paths, key=lambda path: path.stem)
    ]
    return table(["module", "what it gives", "used by"], rows)


def _is_package(path: Path) -> bool:
    return (path / "__init__.py").exists()


def _first_line(path: Path) -> str:
    file = path / "__init__.py" if path.is_dir() else path
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return text.partition("\n")[0].replace("|", "\\|")


def _users(name: str) -> str:
    """Return the folders of tests and the helpers that use a module."""
    users = {user for user, names in _uses().items() if name in names}
    return ", ".join(map(code, sorted({*map(_folder, users)} - {f"support.{name}"})))


def _folder(path: Path) -> str:
    if path.is_relative_to(SUPPORT):
        return f"support.{path.relative_to(SUPPORT).parts[0].removesuffix('.py')}"
    if path.is_relative_to(ROOT / "tests"):
        return path.relative_to(ROOT / "tests").parts[0]
    return path.relative_to(ROOT).parts[0]


@cache
def _uses() -> dict[Path, frozenset[str]]:
    """Return the modules of tests/support that each file names."""
    files = (path for top in ("tests", "bench", "scripts") for path in (ROOT / top).rglob("*.py"))
    return {
        path: frozenset(
            name
            for one, several in _USE.findall(path.read_text("utf-8"))
            for name in ([one] if one else re.findall(r"\w+", several))
        )
        for path in files
        if "node_modules" not in path.parts
    }
