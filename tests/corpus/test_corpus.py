"""Every dialect reads its corpus the same way, however the text is cut.

A case is `<case>.txt` (the exact text) and `<case>.events` (one JSON event per line, joined);
`<case>.json` beside them gives options of the parser, over those of the folder's `options.json`.
The folder is the dialect's name.
`pytest --accept` writes the events from what was seen: read the diff before you commit it.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from callblocks.core.events import join
from callblocks.parser import AUTO
from support.corpus import CASES, CORPUS, cases_of, content, naming, options
from support.reading import NAMES, alike, cut, lines, read
from support.sampling import sample
from support.verifying import verify

LEAST = 15
LEAST_FOR_AUTO = 20
RANDOM_CUTS = 5
APART = 48
"""How far apart two cuts of one reading are: no marker is as long."""


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.no_cover  # the next one reads the same texts
def test_the_texts_read_as_recorded(dialect: str, request: pytest.FixtureRequest) -> None:
    """All cases of a dialect are read before one fails, so that each that changed is named."""
    seen: dict[Path, str] = {}
    for path in cases_of(dialect):
        text, given = content(path), options(path)
        with naming(path):
            events = read(dialect, [text], **given)
            verify(text, events, given.get("reasoning", ()))
        seen[path.with_suffix(".events")] = lines(events)
    if request.config.getoption("--accept"):
        for path, told in seen.items():
            path.write_text(told, encoding="utf-8", newline="")
    changed = [path for path, told in seen.items() if told != content(path)]
    for path in changed:
        assert seen[path] == content(path), f"these changed: {[one.stem for one in changed]}"


@pytest.mark.parametrize("dialect", NAMES)
def test_a_character_at_a_time_reads_the_same(dialect: str) -> None:
    for path in cases_of(dialect):
        text, given = content(path), options(path)
        with naming(path):
            each = read(dialect, list(text), **given)
            verify(text, each, given.get("reasoning", ()))
            assert alike(each, read(dialect, [text], **given))


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.no_cover  # every way is walked by the one above
def test_cuts_do_not_matter(dialect: str) -> None:
    for path in cases_of(dialect):
        with naming(path):
            check_cuts(path)


def check_cuts(path: Path) -> None:
    """Cut the text of a case everywhere, and at random.

    One reading has many cuts, so far apart that each has whole markers before and after it. So a
    text is read as often as two cuts are apart, and not as often as it has characters. Of these
    readings each third one is made, beginning with another one in each case: the cases of a dialect
    are cut at all distances from their markers, and `CALLBLOCKS_FULL=1` cuts each case everywhere.
    """
    text, given, dialect = content(path), options(path), path.parent.name
    whole = join(read(dialect, [text], **given))
    random = Random(path.stem)
    firsts = sample(range(1, min(APART + 1, len(text))), of=3, seed=path.stem)
    places = [
        *(range(first, len(text), APART) for first in firsts),
        *(random.choices(range(len(text) + 1), k=5) for _ in range(RANDOM_CUTS)),
    ]
    for at in places:
        pieces = cut(text, at)
        events = join(read(dialect, pieces, **given))
        assert events == whole or alike(events, whole), f"cut as {pieces}"


@pytest.mark.parametrize("dialect", NAMES)
def test_every_dialect_has_a_corpus(dialect: str) -> None:
    found = len(cases_of(dialect))
    least = LEAST_FOR_AUTO if dialect == AUTO else LEAST
    assert found >= least, f"{CORPUS / dialect} has {found} cases of at least {least}"


def test_every_folder_is_a_dialect_and_every_recording_has_its_text() -> None:
    folders = {path.name for path in CORPUS.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders <= set(NAMES)
    recorded = {path.with_suffix(".txt") for path in CORPUS.glob("*/*.events")}
    assert recorded <= set(CASES)
