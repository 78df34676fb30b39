"""Pages that name tests as proofs: the tests exist."""

from __future__ import annotations

import re

import pytest

from support.pages import ROOT

PAGES = {"promises.md": 25, "foreign-files.md": 20}
"""The pages, and how many rows each has at least."""


@pytest.mark.parametrize("page", PAGES)
def test_every_row_names_a_test_that_exists(page: str) -> None:
    lines = (ROOT / "docs" / page).read_text().splitlines()
    rows = [line for line in lines if re.match(r"\| (?!promise|parser)", line)]
    assert len(rows) >= PAGES[page]
    for row in rows:
        proofs = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert proofs, row
        for file, test in proofs:
            assert f"def {test}(" in (ROOT / "tests" / file).read_text(), f"{file}::{test}"
        for module in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", row):
            assert (ROOT / "src" / "callblocks" / module).is_file(), module
