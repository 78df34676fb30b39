"""The tools for documents do the same on a local office and on Google."""

from __future__ import annotations

from collections.abc import Callable

from support.google.calling import Calling

Failure = Callable[..., str]


def test_a_document_is_read_as_it_was_created(call: Calling) -> None:
    for text in ("", "hello", "# Köln 👋\n\nline\n- a", "a\n\n\nb", "tab\there"):
        made = call("docs_create", title="Plan für May", text=text)
        read = call("docs_read", documentId=made["documentId"])
        assert read == {"documentId": made["documentId"], "title": "Plan für May", "text": text}
        assert call.context.taints == ["documents of others"]


def test_text_is_appended_on_a_new_line(call: Calling) -> None:
    made = call("docs_create", title="Plan", text="first\n")
    one = {"documentId": made["documentId"]}
    added = call("docs_append", **one, text="second\r\nthird\n")
    assert added == {**one, "title": "Plan", "characters": len("first\nsecond\nthird")}
    call("docs_append", **one, text="\nafter an empty line")
    text = "first\nsecond\nthird\n\nafter an empty line"
    assert call("docs_read", **one)["text"] == text


def test_the_first_text_of_an_empty_document_starts_it(call: Calling) -> None:
    made = call("docs_create", title="Plan")
    call("docs_append", documentId=made["documentId"], text="first")
    assert call("docs_read", documentId=made["documentId"])["text"] == "first"


def test_each_place_is_replaced_and_counted(call: Calling) -> None:
    made = call("docs_create", title="Plan", text="a.b a.b\nA.B axb")
    one = {"documentId": made["documentId"]}
    done = call("docs_replace", **one, findText="a.b", replaceText=r"\1$&")
    assert done == {**one, "occurrencesChanged": 2}
    assert call("docs_read", **one)["text"] == "\\1$& \\1$&\nA.B axb"
    done = call("docs_replace", **one, findText="A.b", replaceText="", matchCase=False)
    assert done["occurrencesChanged"] == 1
    assert call.context.notices == []


def test_a_text_that_is_nowhere_is_said_plainly(call: Calling) -> None:
    made = call("docs_create", title="Plan", text="Hello")
    one = {"documentId": made["documentId"]}
    done = call("docs_replace", **one, findText="hello", replaceText="x")
    assert done["occurrencesChanged"] == 0
    assert [notice.code for notice in call.context.notices] == ["nothing_replaced"]
    assert call("docs_read", **one)["text"] == "Hello"


def test_a_preview_of_a_replacement_is_a_diff(call: Calling) -> None:
    made = call("docs_create", title="Plan", text="one\ntwo")
    one = {"documentId": made["documentId"]}
    shown = call.preview("docs_replace", **one, findText="two", replaceText="2")
    assert "-two" in shown
    assert "+2" in shown
    assert call("docs_read", **one)["text"] == "one\ntwo"
    missing = call.refused("docs_replace", documentId="1x", findText="a", replaceText="b")
    assert "not_found" in missing


def test_full_gives_the_resource_of_google(call: Calling) -> None:
    made = call("docs_create", title="Plan", text="👋\nb", full=True)
    read = call("docs_read", documentId=made["documentId"], full=True)
    paragraphs = [one for one in read["body"]["content"] if "paragraph" in one]
    assert [(one["startIndex"], one["endIndex"]) for one in paragraphs] == [(1, 4), (4, 6)]
    assert made["body"] == read["body"]


def test_an_unknown_document_is_not_found(failure: Failure) -> None:
    one = {"documentId": "1nothing"}
    assert failure("docs_read", **one) == "not_found"
    assert failure("docs_append", **one, text="x") == "not_found"
    assert failure("docs_replace", **one, findText="a", replaceText="b") == "not_found"


def test_a_picture_is_no_document(call: Calling, failure: Failure) -> None:
    made = call("drive_create", name="p.png", content="AAAA", encoding="base64")
    assert failure("docs_read", documentId=made["id"]) == "invalid_input"


def test_wrong_input_is_refused(failure: Failure) -> None:
    assert failure("docs_create", title="") == "invalid_input"
    assert failure("docs_create", title=" ") == "invalid_input"
    assert failure("docs_append", documentId="x", text="") == "invalid_input"
    given = {"documentId": "x", "findText": "", "replaceText": "b"}
    assert failure("docs_replace", **given) == "invalid_input"


def test_only_line_breaks_are_nothing_to_append(call: Calling, failure: Failure) -> None:
    made = call("docs_create", title="Plan", text="a")
    assert failure("docs_append", documentId=made["documentId"], text="\n\n") == "invalid_input"


def test_a_text_of_more_than_the_limit_is_refused(failure: Failure) -> None:
    large = "x" * (25 * 1024 * 1024 + 1)
    assert failure("docs_create", title="Plan", text=large) == "file_too_large"
