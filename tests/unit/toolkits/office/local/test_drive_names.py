"""Any name becomes one that a file system takes, inside its folder."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.guard.files.real_path import MAX_NAME, relative
from callblocks.guard.files.replace_file import PROTECTED, refuse_protected
from callblocks.toolkits.office.backend import DOCUMENT, SPREADSHEET
from callblocks.toolkits.office.local.drive.drive_match import name_holds
from callblocks.toolkits.office.local.drive.drive_row import guessed_type, shown_name, stored_names
from callblocks.toolkits.office.local.drive.drive_scan import is_unfinished


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300),
    st.sampled_from(["text/plain", DOCUMENT, SPREADSHEET]),
)
def test_a_stored_name_is_one_name_in_its_folder(name: str, mime: str) -> None:
    first, second, third = islice(stored_names(name, mime, "f"), 3)
    assert len({first, second, third}) == 3
    for stored in (first, second, third):
        assert "/" not in stored
        assert not stored.startswith(".")
        assert len(stored.encode()) <= MAX_NAME
        assert relative(f"f/{stored}") == f"f/{stored}"
        assert not is_unfinished(stored)
        refuse_protected(f"f/{stored}", PROTECTED)


@pytest.mark.parametrize(
    ("name", "mime", "stored"),
    [
        ("report.csv", "text/csv", "report.csv"),
        ("Plan", DOCUMENT, "Plan.md"),
        ("Plan.md", DOCUMENT, "Plan.md"),
        ("Costs", SPREADSHEET, "Costs.sheet"),
        ("../../etc/passwd", "text/plain", "_._.._etc_passwd"),
        (".bashrc", "text/plain", "_bashrc"),
        ("AGENTS.md", "text/markdown", "_AGENTS.md"),
        ("a.", "text/plain", "a"),
        ("Costs.sheet-journal", "text/plain", "Costs_sheet-journal"),
        ("n" * 300 + ".txt", "text/plain", "n" * 243 + ".txt"),
    ],
)
def test_a_name_is_stored_as(name: str, mime: str, stored: str) -> None:
    assert next(stored_names(name, mime, "")) == stored


def test_a_name_by_hand_tells_the_type() -> None:
    assert guessed_type("Costs.sheet") == SPREADSHEET
    assert guessed_type("a.csv") == "text/csv"
    assert guessed_type("a") == "application/octet-stream"
    assert shown_name("Costs.sheet", SPREADSHEET) == "Costs"
    assert shown_name(".md", DOCUMENT) == ".md"


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("HelloWorld", "hello", True),
        ("HelloWorld", "World", False),
        ("Hello World", "wor", True),
        ("annual_report-2024.pdf", "report 20", True),
        ("annual report", "annual rep", True),
        ("annual report", "report annual", False),
        ("a-b", "-", True),
        ("ab", "-", False),
    ],
)
def test_a_name_holds_words_that_start_so(name: str, value: str, found: bool) -> None:
    assert name_holds(name, value) is found


def test_paths_stay_below_the_drive(tmp_path: Path) -> None:
    for name in ("..", "/etc/passwd", "a/../../b", "\\..\\x"):
        stored = next(stored_names(name, "text/plain", ""))
        assert (tmp_path / stored).resolve().parent == tmp_path.resolve()
