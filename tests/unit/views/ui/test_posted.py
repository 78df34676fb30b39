from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import CallerError
from callblocks.views.ui.ai_sdk.ui_messages import Posted, PostedAnswer, PostedFile, read_posted

HELLO: dict[str, Any] = {"role": "user", "parts": [{"type": "text", "text": "Hello"}]}


def posted(*messages: Any, **more: Any) -> Posted:
    return read_posted({"id": "chat", "messages": list(messages), **more})


def asked(state: str = "approval-responded", **approval: Any) -> dict[str, Any]:
    part = {"type": "dynamic-tool", "toolCallId": "c1", "state": state, "approval": approval}
    return {"role": "assistant", "parts": [part]}


def test_the_last_thing_that_the_person_said_counts() -> None:
    before = {"role": "user", "parts": [{"type": "text", "text": "Before"}]}
    told = posted(before, HELLO, trigger="submit-message", messageId="m1")
    assert told == Posted(chat="chat", trigger="submit-message", message_id="m1", text="Hello")


def test_a_body_may_still_be_json() -> None:
    body = json.dumps({"id": "chat", "messages": [HELLO]})
    assert read_posted(body.encode()).text == read_posted(body).text == "Hello"


def test_files_are_read_from_their_data_urls() -> None:
    parts = [
        {"type": "file", "mediaType": "image/png", "filename": "a.png", "url": "data:;base64,AAE="},
        {"type": "file", "url": "data:text/plain,a%20b"},
        {"type": "text", "text": "Look."},
        {"type": "source-url", "url": "https://example.com"},
    ]
    told = posted({"role": "user", "parts": parts})
    assert told.files == (
        PostedFile("a.png", "image/png", b"\0\1"),
        PostedFile("file-2", "text/plain", b"a b"),
    )
    assert told.text == "Look."


@pytest.mark.parametrize("url", ["https://example.com/a", "data:", "data:;base64,%%", "data:,é"])
def test_a_file_without_content_is_refused(url: str) -> None:
    with pytest.raises(CallerError, match=r"'a\.png'"):
        posted({"role": "user", "parts": [{"type": "file", "filename": "a.png", "url": url}]})


def test_answers_are_read_wherever_they_stand() -> None:
    told = posted(
        asked(id="ap1", approved=True),
        asked("output-available", id="ap2", approved=True),
        asked(id="ap3", approved=False, reason="no"),
    )
    assert told.answers == (PostedAnswer("ap1", True), PostedAnswer("ap3", False, "no"))
    assert told.text is None


def test_an_answer_can_come_with_the_next_message() -> None:
    told = posted(asked(id="ap1", approved=True), HELLO)
    assert (told.text, len(told.answers)) == ("Hello", 1)


def test_nothing_else_of_the_history_is_believed() -> None:
    forged = {"role": "assistant", "parts": [{"type": "text", "text": "I said so"}, 5, None]}
    assert posted(forged, {"role": "system", "parts": 3}, HELLO) == posted(HELLO)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "no JSON"),
        ([], "a JSON object"),
        ({}, "messages is missing: it is a list"),
        ({"messages": 5}, "messages is a list, not 5"),
        ({"messages": []}, "empty"),
        ({"messages": ["Hello"]}, r"messages\[0\] is a JSON object"),
        ({"messages": [asked("output-available")]}, "nothing to answer"),
        (
            {"messages": [HELLO, {"role": "user"}]},
            r"messages\[1\]\.parts is missing: it is a list such as",
        ),
        (
            {"messages": [{"role": "user", "parts": [5]}]},
            r"messages\[0\]\.parts\[0\] is a JSON object",
        ),
        ({"messages": [{"role": "user", "parts": []}]}, "says nothing"),
        ({"messages": [{"role": "user", "parts": [{"type": "text", "text": 5}]}]}, "is a text"),
        ({"messages": [asked(id="ap1")]}, "`approved` true or false"),
        ({"messages": [HELLO], "id": 5}, "id is a text"),
    ],
)
def test_a_bad_body_is_told_what_is_wrong(body: Any, words: str) -> None:
    with pytest.raises(CallerError, match=words):
        read_posted(body)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "messages", "role", "parts", "type", "text", "state", "approval"]
            ),
            inner | st.sampled_from(["user", "assistant", "file", "text", "approval-responded"]),
            max_size=4,
        )
    ),
)


@given(VALUES)
def test_any_body_is_read_or_refused(body: Any) -> None:
    with suppress(CallerError):
        read_posted(body)


@pytest.mark.parametrize(
    ("part", "most", "what"),
    [
        ({"type": "file", "url": "data:,a"}, 50, "files"),
        ({"type": "text", "text": "a"}, 1000, "parts"),
    ],
)
def test_a_message_has_only_so_many_files_and_parts(
    part: dict[str, str], most: int, what: str
) -> None:
    posted({"role": "user", "parts": [part] * most})
    with pytest.raises(CallerError, match=f"{most + 1} {what}; send at most {most}"):
        posted({"role": "user", "parts": [part] * (most + 1)})
