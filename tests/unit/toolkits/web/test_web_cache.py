"""What is kept of pages: never more than there is room for, never a file that is not ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from callblocks.guard.net.client import Hop, Response
from callblocks.toolkits.web.web_page import (
    Kept,
    PageCache,
    WebPage,
    conditions,
    may_be_kept,
    seconds_fresh,
)

URL = "https://tides.example/"
KEPT = Kept(page=WebPage(title="Tides", text="High at six"), conditions={"If-None-Match": '"1"'})


def test_a_page_is_given_back_as_it_was_kept(tmp_path: Path) -> None:
    PageCache(tmp_path / "new/pages").put(URL, KEPT)
    assert PageCache(tmp_path / "new/pages").get(URL) == KEPT
    assert PageCache(tmp_path / "new/pages").get(f"{URL}x") is None
    assert (tmp_path / "new/pages").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "url", ["../../etc/passwd", "a/b\0c", "x" * 10_000, "https://a/\ud800", "", "."]
)
def test_any_address_is_a_name_of_the_same_plain_form(url: str, tmp_path: Path) -> None:
    cache = PageCache(tmp_path / "pages")
    cache.put(url, KEPT)
    assert cache.get(url) == KEPT
    (file,) = (tmp_path / "pages").iterdir()
    assert len(file.stem) == 64
    assert file.suffix == ".json"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"page": 5}', b"[" * 100_000, b"\xff", b'{"page":{"text":"x"},"version":0}'],
)
def test_a_damaged_file_is_a_page_that_was_never_read(content: bytes, tmp_path: Path) -> None:
    cache = PageCache(tmp_path)
    cache.put(URL, KEPT)
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    assert cache.get(URL) is None
    cache.put(URL, KEPT)
    assert cache.get(URL) == KEPT


def test_a_link_is_neither_followed_nor_written_through(tmp_path: Path) -> None:
    cache = PageCache(tmp_path / "pages")
    cache.put(URL, KEPT)
    (file,) = (tmp_path / "pages").iterdir()
    other = tmp_path / "other.json"
    file.rename(other)
    file.symlink_to(other)
    assert cache.get(URL) is None
    before = other.read_bytes()
    cache.put(URL, Kept(page=WebPage(text="new")))
    assert other.read_bytes() == before
    assert not file.is_symlink()


def test_the_oldest_go_when_there_is_no_room(tmp_path: Path) -> None:
    cache = PageCache(tmp_path, room=10_000, files=100)
    for at in range(20):
        cache.put(f"{URL}{at}", Kept(page=WebPage(text="x" * 1_000)))
        for age, file in enumerate(sorted(tmp_path.iterdir(), key=os.path.getmtime)):
            os.utime(file, (age, age))
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 10_000
    assert cache.get(f"{URL}19") is not None
    assert cache.get(f"{URL}0") is None
    few = PageCache(tmp_path, files=3)
    few.put(URL, KEPT)
    assert len([*tmp_path.iterdir()]) <= 3


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    cache = PageCache(tmp_path / "file")
    cache.put(URL, KEPT)
    assert cache.get(URL) is None
    assert PageCache().get(URL) is None
    PageCache().put(URL, KEPT)


def test_a_page_is_fresh_for_its_time_and_not_by_a_clock_that_went_back(tmp_path: Path) -> None:
    now = [1_000_000.0]
    cache = PageCache(tmp_path, clock=lambda: now[0])
    kept = Kept(page=WebPage(text="x"), fresh_until=now[0] + 60)
    seen: list[bool] = []
    for passed in (0, 59, 60, 3_600, -200_000):
        now[0] = 1_000_000.0 + passed
        seen.append(cache.is_fresh(kept))
    assert seen == [True, True, False, False, False]


def response(status: int = 200, hops: tuple[Hop, ...] = (), **headers: str) -> Response:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Response(status=status, url=URL, headers=named, history=hops)


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (response(cache_control="max-age=600"), 600),
        (response(cache_control="public, Max-Age=600, immutable"), 600),
        (response(cache_control="s-maxage=600"), 0),
        (response(cache_control="max-age=600, no-cache"), 0),
        (response(cache_control="max-age=600", age="590"), 10),
        (response(cache_control="max-age=600", age="later"), 600),
        (response(cache_control="max-age=9999999999"), 24 * 3_600),
        (response(cache_control="max-age=-1"), 0),
        (response(), 0),
    ],
)
def test_how_long_a_page_is_fresh(answer: Response, seconds: int) -> None:
    assert seconds_fresh(answer) == seconds


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (response(etag='"1"'), True),
        (response(last_modified="Wed, 01 May 2024 10:00:00 GMT"), True),
        (response(cache_control="max-age=60"), True),
        (response(), False),
        (response(404, etag='"1"'), False),
        (response(etag='"1"', cache_control="no-store"), False),
        (response(etag='"1"', vary="*"), False),
        (response(hops=(Hop(302, URL),), etag='"1"'), False),
        (response(etag="no quotes"), False),
        (response(etag='"a"\r\nX-Evil: 1'), False),
        (response(last_modified='"; drop'), False),
    ],
)
def test_which_pages_are_kept(answer: Response, kept: bool) -> None:
    assert may_be_kept(answer) == kept
    assert all("\n" not in value for value in conditions(answer).values())
