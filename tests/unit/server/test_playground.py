from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from support.chat_server import Running, running_server

TEXT = "Hi\n🛠[ls src]\nbody🛠[/end]\n🛠[/end] then\n🛠[save a.txt]\nhalf\nof it"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running_server(tmp_path_factory.mktemp("playground")) as running:
        yield running


def _parse(server: Running, text: str, **more: Any) -> dict[str, Any]:
    response = server.client.post("/api/parse", json={"text": text, **more})
    assert response.status_code == 200, response.text
    return response.json()


def test_a_text_comes_back_as_events_with_when_each_was_known(server: Running) -> None:
    read = _parse(server, TEXT)
    assert (read["dialect"], read["calls"], read["length"]) == ("emoji-bracket", 2, len(TEXT))
    assert read["step"] == 1
    assert read["why"] == "2 calls, the first on line 2 with 🛠[ls src]."
    assert read["events"][1] == {
        "type": "call-started",
        "index": 0,
        "id": "tool-call-1",
        "name": "ls",
        "span": [3, 12],
        "at": 12,
    }
    ends = [one["span"] for one in read["events"]]
    assert "".join(TEXT[a:b] for a, b in ends) == TEXT


def test_problems_say_what_is_wrong_and_where(server: Running) -> None:
    stray, unended = _parse(server, TEXT)["problems"]
    assert stray["code"] == "emoji-bracket.stray-end"
    assert TEXT[slice(*stray["span"])] == "🛠[/end]"
    assert unended["code"] == "unended_call"
    assert TEXT[slice(*unended["span"])] == "of it"
    assert unended["at"] == len(TEXT)


def test_a_dialect_that_is_chosen_is_the_only_one_that_is_read(server: Running) -> None:
    read = _parse(server, TEXT, dialect="tool-fence")
    assert (read["dialect"], read["calls"]) == ("tool-fence", 0)


def test_a_long_text_arrives_in_steps(server: Running) -> None:
    assert _parse(server, "x" * 250_001)["step"] == 2


def test_the_events_of_a_wild_text_are_counted(server: Running) -> None:
    read = _parse(server, "🛠[/end] " * 11_000)
    assert len(read["events"]) == 20_000
    assert read["more"] > 0


def test_a_text_is_converted_and_what_cannot_be_said_is_named(server: Running) -> None:
    body = {"text": TEXT, "into": "tool-fence"}
    written = server.client.post("/api/convert", json=body).json()
    assert "```tool ls tool-call-1" in written["text"]
    assert written["left_out"] == ["the call 'tool-call-2' of 'save', which did not end"]


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/api/parse", {}, "missing required field `text`"),
        ("/api/parse", {"text": 1}, "text"),
        ("/api/parse", {"text": "x" * 1_000_001}, "length"),
        ("/api/parse", {"text": "", "dialect": "klingon"}, "no dialect 'klingon'; choose from"),
        ("/api/parse", {"text": "", "more": 1}, "unknown field"),
        ("/api/convert", {"text": ""}, "missing required field `into`"),
        ("/api/convert", {"text": "", "into": "auto"}, "choose from: tool-fence"),
        ("/api/convert", {"text": "", "into": "klingon"}, "klingon"),
    ],
)
def test_a_wrong_body_is_refused_with_words(
    server: Running, path: str, body: dict[str, Any], words: str
) -> None:
    response = server.client.post(path, json=body)
    assert response.status_code == 422
    assert words in response.json()["error"]["message"]


def test_half_a_character_breaks_nothing(server: Running) -> None:
    for path in ("/api/parse", "/api/convert"):
        content = b'{"text": "\\ud83d", "into": "tool-fence"}'
        headers = {"content-type": "application/json"}
        response = server.client.post(path, content=content, headers=headers)
        assert response.status_code in (200, 400, 422)
