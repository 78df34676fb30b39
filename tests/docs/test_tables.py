"""The tables of the documentation are what the code says now."""

from __future__ import annotations

import re
import subprocess
import sys

from support.pages import PAGES, ROOT

SCRIPT = ROOT / "scripts" / "docs"


def test_the_tables_are_up_to_date() -> None:
    done = _docs("--check")
    assert done.returncode == 0, f"run: make docs\n{done.stdout}{done.stderr}"


def test_an_unknown_argument_is_refused() -> None:
    assert _docs("--chekc").returncode == 2


def test_every_table_that_begins_ends() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        marks = re.findall(r"^<!-- (table|end)\b", text, re.MULTILINE)
        assert marks == ["table", "end"] * (len(marks) // 2), page


def test_every_helper_of_tests_is_in_the_table_with_what_it_gives() -> None:
    support = ROOT / "tests" / "support"
    listed = re.findall(
        r"^\| `(\w+)` \| (.+?) \| (.+) \|$", (support / "README.md").read_text(), re.M
    )
    packages = {path.parent.name for path in support.glob("*/__init__.py")}
    assert {name for name, *_ in listed} == {path.stem for path in support.glob("*.py")} | packages
    assert [name for name, gives, _ in listed if not gives.endswith(".")] == []


def _docs(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
