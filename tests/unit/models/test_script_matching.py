from __future__ import annotations

import pytest

from callblocks.models.scripted import best_cover, read_pattern


@pytest.mark.parametrize(
    ("pattern", "said", "words"),
    [
        ("list the files", "Please LIST all the Files, now!", 3),
        ("list the files", "list the file", 0),
        ("read", "a bread", 0),
        ("read read me", "read to me", 2),
        ("café", "a cafe\u0301 please", 1),
        ("straße", "STRASSE", 1),
        ("/READ .*md/", "please read the notes.md", 4),
        ("/^read/", "please read", 0),
        ("/x*/", "nothing of it", 1),
        ("/", "a/b", -1),
        ("//", "a", -1),
    ],
)
def test_the_measure_of_a_match_is_the_words_it_covers(pattern: str, said: str, words: int) -> None:
    if words < 0:
        with pytest.raises(ValueError, match="no word"):
            read_pattern(pattern)
    else:
        assert read_pattern(pattern).cover(said) == words


@pytest.mark.parametrize("text", ["/(/", "/a{99999999999999999999}/", "/(?P<1>a)/"])
def test_an_expression_that_is_none_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="is no regular expression"):
        read_pattern(text)


def test_the_best_of_several_patterns_counts() -> None:
    patterns = [read_pattern("a"), read_pattern("a b"), read_pattern("a b z")]
    assert best_cover(patterns, "b a c") == 2
    assert best_cover([], "b a c") == 0
