"""The page's modules do what they say, and say the same as the server: node --test *.test.js"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.nodejs import ROOT, node

HERE = Path(__file__).parent
MODULES = sorted((ROOT / "web" / "src").glob("*.js"))


def test_the_tests_of_the_modules_pass() -> None:
    told = node("--test", "--test-isolation=none", *sorted(HERE.glob("*.test.js")))
    assert "fail 0" in told


def test_the_corpus_is_what_the_code_writes_today() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "web-corpus", "--check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_can_be_imported_without_a_browser() -> None:
    imports = ";".join(f"await import({str(path.as_uri())!r})" for path in MODULES)
    node("--input-type=module", "--eval", imports)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith(("/**\n", "// ")), "a header says the rule, or shows the shape"
