"""The format of corpus files loses nothing, and each file is written in it as it would be anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import corpus
from support.corpus import CORPUS, all_cases, cases_of, options, plain_events, recorded_events
from support.corpus_format import (
    CorpusCase,
    CorpusFile,
    event_lines,
    events_of,
    format_file,
    parse_file,
)
from support.example_counts import try_each
from support.soup import soup
from support.text_pieces import NAMES, read

TEXTS = st.text(st.characters(exclude_categories=())) | st.text(
    st.sampled_from("|# <U+0a>⏎»«\n\r\t\0 \u200b\ud83d\ude00\ufe0f🛠✂✅e\u0301\x85\u2028\\")
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.txt")), ids=lambda path: path.stem)
def test_a_file_is_as_it_would_be_written(path: Path) -> None:
    text = path.read_bytes().decode()
    assert format_file(parse_file(text)) == text
    assert parse_file(text).dialect == path.stem


def test_all_that_a_file_shows_is_visible() -> None:
    for path in CORPUS.glob("*.txt"):
        for line in path.read_bytes().decode().split("\n"):
            assert line.replace("\ufe0f", "").isprintable()
            assert line == line.rstrip()


@given(text=TEXTS, given=st.dictionaries(st.sampled_from(["model", "limits"]), JSON))
def test_any_text_and_options_read_back(text: str, given: dict[str, Any]) -> None:
    for tools in ([], [{"name": text}, {"name": "b"}]):
        case = CorpusCase("a claim", text, {**given, "tools": tools}, ["text «x»"])
        file = parse_file(format_file(CorpusFile("hermes", given, [case, CorpusCase("b", "")])))
        assert file.options == given
        first, second = file.cases
        assert (first.text, first.options, first.events) == (text, case.options, case.events)
        assert (second.title, second.text, second.events) == ("b", "", [])


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.no_cover  # the corpus walks every way
def test_the_lines_of_events_say_all_of_them(dialect: str) -> None:
    def check(text: str) -> None:
        events = plain_events(read(dialect, [text]))
        assert spelled(events_of(dialect, text, event_lines(dialect, text, events))) == spelled(
            events
        )

    try_each(dialect, 30, soup(dialect), check)
    for case in cases_of(dialect):
        events = plain_events(read(dialect, [case.text], **options(case)))
        assert spelled(recorded_events(case)) == spelled(events)


def spelled(events: list[dict[str, Any]]) -> list[str]:
    """Return events as JSON: NaN is equal to itself there, and the order of keys counts."""
    fields = (dict(sorted(event.items())) for event in events)
    return [json.dumps(event) for event in fields]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", "line 1: the first line is `# ` and the dialect"),
        ("# a\n\n| x", "line 3: a line of text stands outside of a text"),
        ("# a\n\n## b\n| x\ntext «x»\n| y", "line 6: a line of text stands outside of a text"),
        ("# a\n\n## b\nstrict=true", "line 4: the last case has no text"),
        ("# a\n\n## b\n\n## c\n| x", "line 5: the case before has no text"),
        ("# a\n\n## b\n| x\n\n## b\n| y", "line 1: two cases have one title"),
        ("# a\nstrict: true", "line 2: no title, option or text: strict: true"),
        ("# a\nstrict=true false", "line 2: more than a value: strict=true false"),
        ("## a\n| x", "line 1: the first line is `# ` and the dialect"),
    ],
)
def test_what_is_no_corpus_file_is_told_with_its_line(written: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        parse_file(written)
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    "line",
    [
        "text «Y»",
        "text «X» more=1",
        "call-started «X»",
        "said «X»",
        "text «X» text",
    ],
)
def test_a_line_that_is_no_event_of_its_text_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"text|field|event"):
        events_of("hermes", "X", [line])


def test_a_text_in_a_file_of_its_own_is_added_where_its_title_sorts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "CORPUS", tmp_path)
    (tmp_path / "hermes").mkdir()
    for name in ("z", "a-tool-s-name", "m"):
        (tmp_path / "hermes" / f"{name}.txt").write_bytes(f"{name}\r\n ".encode())
        (tmp_path / "hermes" / f"{name}.json").write_text('{"strict": true}')
        for _ in range(2):
            corpus.add_case(tmp_path / "hermes" / f"{name}.txt")
    cases = parse_file((tmp_path / "hermes.txt").read_bytes().decode()).cases
    assert [case.title for case in cases] == ["a tool's name", "m", "z"]
    assert (cases[1].text, cases[1].options) == ("m\r\n ", {"strict": True})
    (tmp_path / "hermes" / "m.txt").write_text("other")
    with pytest.raises(ValueError, match="another case has the title 'm' in line 8"):
        corpus.add_case(tmp_path / "hermes" / "m.txt")
    corpus.cases_of.cache_clear()


def test_every_case_has_a_title_that_can_be_named() -> None:
    for case in all_cases():
        assert case.title == " ".join(case.title.split())
        assert case.title.isprintable()
