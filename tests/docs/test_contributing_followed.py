"""Following CONTRIBUTING: one file, one line, a corpus file, and every law holds.

It is done once, in a copy of the package and of the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.corpus_format import CorpusCase, CorpusFile, format_file, parse_file
from support.pages import ROOT, code_blocks

NAME = "guillemet"
PAGE = code_blocks((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
FILE = next(block.text for block in PAGE if "(NamedJson):" in block.text)
LINE = next(block.text for block in PAGE if block.text.strip().startswith(f'"{NAME}":'))
LAWS = 20
"""More tests than so many are about each dialect, in the corpus and the laws."""
CASES = {
    "one call": '«weather {"place": "Oslo"}»',
    "two calls": '«a {"x": 1}»«b {"y": [true, null]}»',
    "prose before between and after": "Look: «a {}» and «b {}».",
    "a name alone is prose": "«now»",
    "nothing is prose": "«»",
    "a blank in the name is prose": "«to be {}»",
    "a line end in the name is prose": "«to\nbe {}»",
    "no json is malformed": "«weather {Oslo}»",
    "a missing end is repaired": '«weather {"place": "Oslo"}',
    "a text that breaks off is malformed": '«weather {"place": "Os',
    "what is no object is prose": "«weather [1]»",
    "markers in a string are text": '«speak {"what": "«x {}»"}»',
    "escapes are read": r'«say {"what": "\u00ab \" \n"}»',
    "line ends of both kinds are blanks": '«a {\r\n"x": 1}\n»\r\n«b {}»',
    "a second opening begins anew": "«a «b {}»",
    "unicode is kept": '«zeit {"ort": "Ålesund 🛠️"}»',
}


def copied(folder: Path) -> None:
    """A copy of what a contributor works on, with what is compiled: files keep their times."""
    skip = shutil.ignore_patterns("node_modules")
    shutil.copytree(ROOT / "src" / "callblocks", folder / "src" / "callblocks", ignore=skip)
    for part in ("support", "laws"):
        shutil.copytree(ROOT / "tests" / part, folder / "tests" / part, ignore=skip)
    for part in ("conftest.py", "corpus/test_corpus.py"):
        place = folder / "tests" / part
        place.parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests" / part, place)
    shutil.copy(ROOT / "pyproject.toml", folder)


def added(folder: Path) -> None:
    """The three things."""
    dialects = folder / "src" / "callblocks" / "dialects"
    (dialects / f"{NAME}.py").write_text(FILE, "utf-8")
    table = dialects / "table.py"
    text = table.read_text("utf-8")
    table.write_text(text.replace("\n}\n", f"\n{LINE.rstrip()}\n}}\n", 1), "utf-8")
    cases = [CorpusCase(title, text) for title, text in CASES.items()]
    corpus = folder / "tests" / "corpus" / f"{NAME}.txt"
    corpus.write_text(format_file(CorpusFile(NAME, cases=cases)), "utf-8")


def run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", NAME]
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": "src:tests"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.no_cover
def test_a_made_up_dialect_is_one_small_file_a_line_and_a_corpus(tmp_path: Path) -> None:
    assert len(FILE.splitlines()) < 30
    assert len(CASES) >= 15
    copied(tmp_path)
    added(tmp_path)
    run(tmp_path, "tests/corpus", "--accept")
    recorded = parse_file((tmp_path / "tests" / "corpus" / f"{NAME}.txt").read_text("utf-8"))
    assert [bool(case.events) for case in recorded.cases] == [True] * len(CASES)
    laws = run(tmp_path, "tests/corpus", "tests/laws")
    assert int(laws.rpartition(" passed")[0].split()[-1]) > LAWS
