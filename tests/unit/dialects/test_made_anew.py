"""A dialect prepares its markers when they are first needed, and has no other state."""

from __future__ import annotations

import pytest

from callblocks import Parser, dialects
from callblocks.dialects import dialect_of, families
from support.corpus import cases_of, options
from support.sampling import sample
from support.text_pieces import alike, read


@pytest.mark.parametrize("name", dialects)
def test_one_that_is_made_anew_reads_the_same(name: str) -> None:
    fresh = type(dialects[name])()
    for case in sample(cases_of(name), of=3, seed=name):
        text, given = case.text, options(case)
        parser = Parser(fresh, **given)
        assert alike([*parser.feed(text), *parser.close()], read(name, [text], **given)), str(case)


def test_models_are_looked_up_anew() -> None:
    families._by_words.cache_clear()
    assert dialect_of("qwen3-coder-30b") == "qwen3_coder"
