"""What should not be in a timeline, or in its place: an error with a code, and the rest is read."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from callblocks.core.errors import TimelineError
from callblocks.core.outcomes import Outcome
from callblocks.timeline.log.log import MAX_BLOCK, Store
from callblocks.timeline.log.open_store import open_store
from callblocks.timeline.log.transfer import (
    artifact_of,
    export_lines,
    import_timeline,
    verify,
    verify_artifacts,
)
from support.recorded_sessions import a_session
from support.stores import KINDS, block, fresh_address
from support.tool_runtime import call

LARGE = 50 * 1024 * 1024
SEED = 4


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with fresh_address(request.param, tmp_path) as address, open_store(address) as store:
        yield store


def refused(use: Callable[[], object]) -> TimelineError:
    with pytest.raises(TimelineError) as caught:
        use()
    return caught.value


@pytest.mark.parametrize("field", ["text", "base64", "path", "meta"])
def test_a_block_of_50_mb_is_refused_with_all_that_came_with_it(store: Store, field: str) -> None:
    written = store.append("talk", [block("a")])
    content = "x" * LARGE
    large = replace(block(), **{field: {"key": content} if field == "meta" else content})
    error = refused(lambda: store.append("talk", [block("b"), large, block("c")]))
    assert error.code == "block_too_large"
    assert error.details["limit"] == MAX_BLOCK
    assert "artifact" in error.message
    assert list(store.entries("talk")) == written
    store.append("talk", [block("d")], expected=1)
    assert verify(store, "talk") == []


def test_a_session_writes_50_mb_down_as_an_artifact(tmp_path: Path) -> None:
    with a_session(tmp_path) as session:
        session.recorder.prompt("turn_1", "p" * LARGE)
        session.recorder.attach("turn_1", "a.bin", b"\0" * LARGE)
        one = call("flood")
        session.recorder.started("turn_1", one)
        flood = Outcome(id=one.id, name=one.name, output="o" * LARGE)
        session.recorder.ended("turn_1", one, flood)
        blocks = session.blocks()
        kept = {session.artifacts.read(digest) for digest in map(artifact_of, blocks) if digest}
        assert {content[:1]: len(content) for content in kept} == dict.fromkeys(
            (b"p", b"\0", b"o"), LARGE
        )
        assert max(len(block.text or "") for block in blocks) < MAX_BLOCK
        assert session.timeline.verify() == []


def test_an_artifact_that_is_missing_or_changed_is_found_and_the_rest_is_read(
    tmp_path: Path,
) -> None:
    with a_session(tmp_path) as session:
        for name in "abc":
            session.recorder.attach("turn_1", f"{name}.txt", name.encode() * 1000)
        entries = list(session.timeline.entries())
        named = {artifact_of(one.block): one.seq for one in entries if artifact_of(one.block)}
        first, second, third = named
        (tmp_path / "artifacts" / first[:2] / first / "a.txt").unlink()
        (tmp_path / "artifacts" / second[:2] / second / "b.txt").write_bytes(b"b" * 999 + b"x")
        found = [(one.seq, one.code) for one in verify_artifacts(entries, session.artifacts)]
        assert found == [(named[first], "artifact_missing"), (named[second], "artifact_damaged")]
        assert refused(lambda: session.artifacts.read(first)).code == "artifact_missing"
        assert refused(lambda: session.artifacts.read(second)).code == "artifact_damaged"
        assert session.artifacts.read(third) == b"c" * 1000
        assert list(session.timeline.entries()) == entries
        assert session.timeline.verify() == []
        # Whoever has the content puts it right.
        session.artifacts("a.txt", b"a" * 1000)
        session.artifacts("b.txt", b"b" * 1000)
        assert list(verify_artifacts(entries, session.artifacts)) == []


def text_file(path: Path) -> None:
    path.write_text("Dear diary, this is no database. " * 500)


def another_program(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table theirs (a)")
    connection.close()


def newer(path: Path) -> None:
    open_store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("pragma user_version = 99")
    connection.close()


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (text_file, "store_damaged"),
        (another_program, "store_damaged"),
        (newer, "newer_schema"),
        (Path.mkdir, "store_unavailable"),
    ],
)
def test_what_is_no_store_of_ours_is_refused_and_not_touched(
    tmp_path: Path, make: Callable[[Path], None], code: str
) -> None:
    path = tmp_path / "odd.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    error = refused(lambda: open_store(path))
    assert error.code == code
    assert str(path) in error.message
    assert (path.read_bytes() if path.is_file() else b"") == before
    with open_store(tmp_path / "well.sqlite") as store:
        store.append("talk", [block("a")])


def tampered(lines: list[bytes], rng: Random) -> list[bytes]:
    """An export with something changed, lost, doubled, moved or cut."""
    lines = list(lines)
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2 if at != other:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[-1 - at :] = [b"".join(lines[-1 - at :])[: rng.randrange(60)]]
        case _:
            line = bytearray(lines[at])
            line[rng.randrange(len(line) - 1)] ^= 1 << rng.randrange(8)
            lines[at] = bytes(line)
    return lines


CODES = {"bad_import", "chain_broken", "newer_schema", "bad_name", "block_too_large"}


def test_an_import_that_was_tampered_with_is_refused_whole_or_says_the_same(store: Store) -> None:
    blocks = [block(f"ä {at} \\ \"'", meta={"k": [at, None]}, path=f"ar:x{at}") for at in range(12)]
    store.append("talk", blocks)
    lines = list(export_lines(store, "talk"))
    rng = Random(SEED)
    codes: dict[str, int] = {}
    for number in range(400):
        content = b"".join(tampered(lines, rng))
        name, code = f"copy{number}", None
        try:
            import_timeline(store, io.BytesIO(content), name)
        except TimelineError as error:
            code = error.code
            codes[code] = codes.get(code, 0) + 1
        found = [one.block for one in store.entries(name)]
        assert found == ([] if code else blocks), (content, SEED)
        assert verify(store, name) == []
    assert codes.keys() <= CODES
    assert codes.keys() >= {"bad_import", "chain_broken"}
    assert sum(codes.values()) > 300
    assert [one.block for one in store.entries("talk")] == blocks


def test_an_import_with_a_block_of_50_mb_is_refused(store: Store) -> None:
    store.append("talk", [block("a")])
    first, line, end = export_lines(store, "talk")
    large = line.replace(b'"text":"a"', b'"text":"%s"' % (b"a" * LARGE))
    error = refused(
        lambda: import_timeline(store, io.BytesIO(b"".join((first, large, end))), "copy")
    )
    assert error.code == "block_too_large"
    assert [one.name for one in store.names()] == ["talk"]
