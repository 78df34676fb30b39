"""Reading over HTTP: timelines, the page, what there is, and what was counted."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from callblocks.timeline.log.open_store import open_store
from support.chat_server import Running, chunks, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running_server(tmp_path_factory.mktemp("reading")) as running:
        chunks(running.say("note it", "talk"))
        yield running


def test_a_timeline_is_read_by_pages(server: Running) -> None:
    whole = server.client.get("/api/timelines/talk").json()
    assert whole["next"] is None
    numbers: list[int] = []
    after: int | None = 0
    while after is not None:
        params = {"after": after, "limit": 2}
        page = server.client.get("/api/timelines/talk", params=params).json()
        numbers += [item["seq"] for item in page["items"]]
        after = page["next"]
    assert numbers == [item["seq"] for item in whole["items"]] == list(range(1, whole["count"] + 1))


def test_a_timeline_is_shown_as_a_chat_and_as_the_model_gets_it(server: Running) -> None:
    chat = server.client.get("/api/timelines/talk", params={"view": "chat"}).json()["items"]
    assert [item["kind"] for item in chat] == ["message", "message", "batch", "message"]
    model = server.client.get("/api/timelines/talk", params={"view": "model"}).json()["items"]
    assert {item["type"] for item in model} == {"text"}
    refused = server.client.get("/api/timelines/talk", params={"view": "model", "after": 1})
    assert refused.status_code == 422


def test_a_timeline_is_listed_and_as_it_was_written(server: Running) -> None:
    listed = server.client.get("/api/timelines").json()["timelines"]
    verified = server.client.get("/api/timelines/talk/verify").json()
    assert verified["problems"] == []
    assert {"count", "hash"} <= set(verified)
    assert [one["hash"] for one in listed if one["name"] == "talk"] == [verified["hash"]]


def test_a_page_of_a_timeline_loads_nothing(server: Running) -> None:
    response = server.client.get("/api/timelines/talk/page")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert ">note<" in response.text
    assert "http://" not in response.text.replace("http-equiv", "")


def test_following_gives_each_block_once_also_those_of_others(server: Running) -> None:
    count = server.client.get("/api/timelines/talk").json()["count"]
    numbers: list[int] = []
    with server.client.stream("GET", "/api/timelines/talk/follow") as response:
        for line in response.iter_lines():
            if line.startswith("id: "):
                numbers.append(int(line.removeprefix("id: ")))
            if len(numbers) == count:
                break
    assert numbers == list(range(1, count + 1))


def test_following_goes_on_after_a_number_and_live(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        chunks(server.say("Hello", "live"))
        last = server.client.get("/api/timelines/live").json()["count"]
        headers = {"last-event-id": str(last)}
        with server.client.stream("GET", "/api/timelines/live/follow", headers=headers) as response:
            lines = response.iter_lines()
            next(lines)
            with open_store(tmp_path / "state/timelines.sqlite") as other:
                block = next(iter(other.entries("live"))).block
                other.append("live", [block])
            assert next(line for line in lines if line.startswith("id:")) == f"id: {last + 1}"


def test_the_tools_the_dialects_and_the_model_are_told(server: Running) -> None:
    names = [tool["name"] for tool in server.client.get("/api/tools").json()["tools"]]
    assert "note" in names
    one = server.client.get("/api/tools/note").json()
    assert one["parameters"]["required"] == ["text"]
    missing = server.client.get("/api/tools/nots")
    assert missing.status_code == 404
    assert "did you mean note" in missing.json()["error"]["message"]
    dialects = server.client.get("/api/dialects").json()["dialects"]
    assert [one["name"] for one in dialects if one["is_used"]] == []
    (model,) = server.client.get("/api/models").json()["models"]
    assert (model["name"], model["is_used"], model["suggestions"]) == ("talker", True, [])


def test_what_happens_is_counted_under_few_labels(server: Running) -> None:
    text = server.client.get("/metrics").text
    assert 'callblocks_turns_total{status="answered"}' in text
    assert 'callblocks_calls_total{code="ok"}' in text
    assert 'route="/api/timelines/{name}"' in text
    assert "talk" not in text.replace("talker", "")


def test_the_document_is_served(server: Running) -> None:
    document = server.client.get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert "/api/chat/{id}/stream" in document["paths"]


def test_a_head_of_a_stream_ends(server: Running) -> None:
    response = server.client.head("/api/timelines/talk/follow")
    assert response.status_code == 200
    assert response.content == b""


def test_many_clients_follow_one_turn_each_with_all_of_its_events(server: Running) -> None:
    server.model.gate.clear()
    texts: list[str] = []
    with server.streaming("slow crowd", "crowd") as first:
        next(first)

        def follow() -> None:
            texts.append(server.client.get("/api/chat/crowd/stream").text)

        threads = [threading.Thread(target=follow) for _ in range(50)]
        for thread in threads:
            thread.start()
        while server.service.slots.taken < len(threads) + 1:
            threading.Event().wait(0.01)
        server.model.gate.set()
        for thread in threads:
            thread.join()
        list(first)
    assert len(set(texts)) == 1
    assert json.loads(texts[0].splitlines()[-4].removeprefix("data: "))["type"] == "finish"
