"""The page on reported bugs names cases that are there."""

from __future__ import annotations

import re

import pytest

from support.corpus import CORPUS
from support.pages import ROOT

PAGE = (ROOT / "docs" / "reported-bugs.md").read_text("utf-8")
CLASSES = dict(zip(*[iter(re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)[1:])] * 2, strict=True))


def cases(text: str) -> list[str]:
    listed = text.partition("- Cases:")[2]
    return re.findall(r"`([\w+*-]+/[\w-]+)`", listed)


def test_every_class_of_bug_has_its_section() -> None:
    assert len(CLASSES) == 16


@pytest.mark.parametrize("name", CLASSES)
def test_each_case_that_a_section_names_is_there(name: str) -> None:
    named = cases(CLASSES[name])
    assert named
    found = {case: len([*CORPUS.glob(f"{case}.txt")]) for case in named}
    assert [case for case, count in found.items() if count < (2 if "*" in case else 1)] == []
