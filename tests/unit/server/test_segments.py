from __future__ import annotations

import json
from collections.abc import Generator

import pytest

from support.chat_server import Running, chunks, running_server

NAME = "/api/timelines/talk/segments"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running_server(tmp_path_factory.mktemp("segments")) as running:
        chunks(running.say("note it", "talk"))
        yield running


def test_each_segment_names_its_blocks(server: Running) -> None:
    page = server.client.get(NAME).json()
    assert page["total"] == len(page["items"])
    assert page["next"] is None
    assert page["items"][0]["seqs"] == [2]
    assert page["items"][0]["text"].startswith("[User say]: note it")
    assert page["tokens"] == sum(one["tokens"] for one in page["items"])
    assert page["hidden"] == []
    assert page["hidden_tokens"] == 0


def test_segments_are_read_by_pages(server: Running) -> None:
    whole = server.client.get(NAME).json()["items"]
    pages: list[object] = []
    after: int | None = 0
    while after is not None:
        page = server.client.get(NAME, params={"after": after, "limit": 2}).json()
        pages += page["items"]
        after = page["next"]
    assert pages == whole


def test_what_lies_behind_the_end_is_empty(server: Running) -> None:
    page = server.client.get(NAME, params={"after": 2**40}).json()
    assert page["items"] == []
    assert page["next"] is None


@pytest.mark.parametrize("query", ["after=-1", "limit=0", "limit=10001", "after=x"])
def test_a_wrong_number_is_refused_with_words(server: Running, query: str) -> None:
    response = server.client.get(f"{NAME}?{query}")
    assert response.status_code == 422
    assert response.json()["error"]["message"]


def test_no_timeline_no_segments(server: Running) -> None:
    assert server.client.get("/api/timelines/none/segments").status_code == 404


def test_the_lines_of_a_timeline_are_those_of_its_export(server: Running) -> None:
    response = server.client.get("/api/timelines/talk/lines")
    assert response.headers["content-type"] == "application/jsonl"
    first, *blocks, last = map(json.loads, response.text.splitlines())
    assert first["format"] == "callblocks timeline"
    assert [one["seq"] for one in blocks] == list(range(1, last["count"] + 1))
    assert last["hash"] == blocks[-1]["hash"]
    assert server.client.get("/api/timelines/none/lines").status_code == 404
