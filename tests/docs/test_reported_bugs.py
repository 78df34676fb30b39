"""The page on reported bugs names cases that are there."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from support.corpus import all_cases
from support.pages import ROOT

PAGE = (ROOT / "docs" / "reported-bugs.md").read_text("utf-8")
CLASSES = dict(zip(*[iter(re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)[1:])] * 2, strict=True))


def cases(text: str) -> list[tuple[str, str]]:
    """The dialects, or stars for them, and the titles that a section lists."""
    listed = text.partition("- Cases:")[2]
    return re.findall(r"`([\w+*-]+): ([^`]+)`", listed)


def test_every_class_of_bug_has_its_section() -> None:
    assert len(CLASSES) == 16


@pytest.mark.parametrize("name", CLASSES)
def test_each_case_that_a_section_names_is_there(name: str) -> None:
    named = cases(CLASSES[name])
    assert named
    every = [(case.dialect, case.title) for case in all_cases()]
    titles = Counter(title for _, title in every)
    missing = [
        (dialect, title)
        for dialect, title in named
        if (titles[title] < 2 if dialect == "*" else (dialect, title) not in every)
    ]
    assert missing == []
