from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.models.scripted import BadScript, read_script


def test_a_script_says_what_it_answers_and_what_it_writes() -> None:
    script = read_script(
        "look",
        "---\ntitle: A look\nmatch: [list the files, /ls .*/]\nprompt: List them\npace: 50\n---\n"
        "\nI look.\n\n<!-- results -->\n\nThere is {{result}}.\n",
    )
    assert (script.name, script.title, script.prompt, script.pace) == (
        *("look", "A look", "List them"),
        50,
    )
    assert [pattern.text for pattern in script.patterns] == ["list the files", "/ls .*/"]
    assert script.replies == ("I look.", "There is {{result}}.")


def test_without_front_matter_the_name_of_the_file_is_the_phrase() -> None:
    script = read_script("read_the-notes", "Here they are.")
    assert script.prompt == script.title == "read the notes"
    assert script.patterns[0].cover("read me the notes") == 3
    assert script.pace is None


@pytest.mark.parametrize(
    ("front", "prompt"),
    [
        ("match: hello there", "hello there"),
        ("match: [/x/, hi]", "hi"),
        ("match: /x/", "the file"),
        ("match: /x/\ntitle: The X", "The X"),
        ("", "the file"),
    ],
)
def test_people_are_shown_the_first_phrase(front: str, prompt: str) -> None:
    assert read_script("the-file", f"---\n{front}\n---\ntext").prompt == prompt


def test_an_empty_front_matter_is_none() -> None:
    assert read_script("a", "---\n---\ntext").replies == ("text",)


def test_only_a_line_of_its_own_ends_a_reply() -> None:
    text = "a <!-- results -->\n <!-- results -->\n<!-- results -->  \nb\n<!-- results -->"
    assert read_script("a", text).replies == ("a <!-- results -->\n <!-- results -->", "b", "")


def test_the_first_line_of_a_reply_keeps_its_indentation() -> None:
    assert read_script("a", "\n\n    code\n\n").replies == ("    code",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nmatch: a\ntext", "no closing line"),
        ("---\n[a\n---\ntext", "is no YAML"),
        ("---\n- a\n---\ntext", "names title, match, prompt, pace"),
        ("---\nmatsch: a\n---\ntext", "no key 'matsch'"),
        ("---\nmatch: []\n---\ntext", "names no phrase"),
        ("---\nmatch: [1]\n---\ntext", "not of 1; quote it"),
        ("---\nmatch: ['!']\n---\ntext", "no word"),
        ("---\nmatch: /(/\n---\ntext", "no regular expression"),
        ("---\nprompt: [a]\n---\ntext", "`prompt` is text"),
        ("---\npace: fast\n---\ntext", "`pace` is characters a second"),
        ("---\npace: true\n---\ntext", "`pace` is characters a second"),
        ("---\npace: -1\n---\ntext", "`pace` is characters a second"),
        ("---\npace: .inf\n---\ntext", "`pace` is characters a second"),
        ("---\ntitle: 2031-99-99\n---\ntext", "is no YAML"),
        ("---\ntitle: " + "[" * 300 + "\n---\ntext", "is no YAML"),
        ("", "nothing that the model would write"),
        ("---\nmatch: a\n---\n\n<!-- results -->\n", "nothing that the model would write"),
    ],
)
def test_what_is_no_script_says_why(text: str, why: str) -> None:
    with pytest.raises(BadScript, match=why.replace("[", r"\[")):
        read_script("a-file", text)


@given(st.text(max_size=200), st.sampled_from(["", "---\n", "---\nmatch: "]))
def test_any_text_is_a_script_or_a_bad_one(text: str, start: str) -> None:
    with suppress(BadScript):
        assert any(read_script("name", start + text).replies)
