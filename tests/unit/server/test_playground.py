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


def test_the_model_and_the_tools_say_what_a_bare_call_is(server: Running) -> None:
    bare = '{"name": "get_tides", "parameters": {"days": "3"}}'
    read = _parse(server, bare, model="llama-3.1-8b")
    assert (read["dialect"], read["calls"], read["first"]) == ("llama3_json", 1, "llama3_json")
    integer = {"type": "object", "properties": {"days": {"type": "integer"}}}
    tools = [{"name": "get_tides", "input_schema": integer}]
    assert _parse(server, bare, tools=tools)["calls"] == 1
    named = "🛠[get_tides 3]🛠[/end]"
    assert _parse(server, named, tools=tools)["events"][-1]["call"]["input"] == {"days": 3}
    body = {"text": named, "into": "tool-fence", "tools": tools}
    written = server.client.post("/api/convert", json=body).json()
    assert "days: 3" in written["text"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            '{"name": "ls", "parameters": {}}',
            {"way": "tools", "calls": ["ls"], "dialect": "llama3_json"},
        ),
        (
            "```text\n🛠[ls src]\n🛠[/end]\n```\n",
            {"way": "in_code_fences", "calls": ["ls"], "dialect": ""},
        ),
        ("Nothing is called here.", None),
    ],
)
def test_a_hint_names_the_calls_that_were_not_read(
    server: Running, text: str, hint: dict[str, Any] | None
) -> None:
    assert _parse(server, text)["hint"] == hint
    if hint is not None and hint["way"] == "in_code_fences":
        assert _parse(server, text, in_code_fences=True)["calls"] == 1
    if hint is not None and hint["dialect"]:
        assert _parse(server, text, dialect=hint["dialect"])["calls"] == 1


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
        ("/api/parse", {"text": "", "tools": [{"name": 1}]}, "tools: "),
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
