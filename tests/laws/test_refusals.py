"""A refusal says why: what was expected at a place of the text, and what stands there instead."""

from __future__ import annotations

import re

import pytest

from support.attempts import attempts
from support.corpus import cases_of, content, options
from support.reading import NAMES

FOUND = 20
ONLY_MARKERS = re.compile(r"(?:`[^`…]+`(?:, | or |\Z))+")


@pytest.mark.parametrize("dialect", NAMES)
def test_each_refusal_names_what_was_expected_and_what_stands_there(dialect: str) -> None:
    for case in cases_of(dialect):
        text = content(case)
        for attempt in attempts(dialect, text, **options(case)):
            if attempt.refusal is None:
                continue
            expected, found, at = attempt.refusal
            told = (case.name, attempt.owner, attempt.marker, attempt.refusal)
            assert expected, told
            assert attempt.offset <= at <= len(text), told
            assert text[at : at + FOUND].startswith(found), told
            assert found or at == len(text), told
            if ONLY_MARKERS.fullmatch(expected):
                markers = tuple(re.findall("`([^`]+)`", expected))
                assert not text.startswith(markers, at), told
