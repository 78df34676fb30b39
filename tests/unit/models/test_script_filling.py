from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks import parse
from callblocks.models.scripted import fill, plain_line

RESULTS = (("first", "one"), ("second", "two"))
MARKERS = (
    *("```tool x y\n", "~~~tool x\n", "```", "~~~", "<tool>", '<tool id="a">f(x=1)</tool>', "\n"),
    *("🛠️[", "🛠[", "]", "/end]", "üõ†Ô∏è[", "✂️🐱", "✂🐱", "[", "{", "]", "}", '"', "'", "\\"),
    *('[{"type": "custom", "operation": "x", "parameters": {}}]', "🔧 **Tool Call:** `a(b=1)`"),
    *("{{result}}", "{{prompt}}", "\u2028", "\r", "\x00", "\u202e", "tool", " ", "a", ": ", "#"),
)
HOSTILE = st.lists(st.sampled_from(MARKERS) | st.text(max_size=5), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("reply", "filled"),
    [
        ("It is {{result}}.", "It is two."),
        ("It is {{result:first}}.", "It is one."),
        ("It is {{result:1}}, {{result:2}}.", "It is one, two."),
        ("You said {{prompt}}.", "You said hello."),
        ("{{other}} {{result:third}} {{result:3}} {{prompt:x}}", None),
        ("{{ result }} {result} {{result:}}", None),
        ("{{result}}", "→ two"),
        ("a\n  {{result}}", "a\n  → two"),
        ("```{{prompt}}", "```→ hello"),
        ("<{{prompt}}>", "<→ hello>"),
        ("- {{result}}", "- two"),
    ],
)
def test_places_are_filled_with_what_came_back(reply: str, filled: str | None) -> None:
    assert fill(reply, "hello", RESULTS) == (reply if filled is None else filled)


def test_where_nothing_came_back_the_place_stays() -> None:
    assert fill("It is {{result}}, {{result:1}}.", "", ()) == "It is {{result}}, {{result:1}}."


def test_what_is_filled_in_is_not_filled_again() -> None:
    assert fill("- {{prompt}}", "{{result}}", RESULTS) == "- ((result))"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n\n  b\tc", "a b c"),
        ("", "(nothing)"),
        (" \n", "(nothing)"),
        ('{"a": [`<b>`]}', "(”a”: (‘‹b›‘))"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
        ("x" + " " * 10_000 + "y", "x…"),
        ("a\x1b[2Jb\u202ec\ud800", "a\ufffd(2Jb\ufffdc\ufffd"),
        ("👩\u200d🚀", "👩\u200d🚀"),
    ],
)
def test_a_text_becomes_one_short_plain_line(text: str, line: str) -> None:
    assert plain_line(text) == line


@given(HOSTILE)
def test_a_plain_line_has_no_sign_of_a_marker_in_it(text: str) -> None:
    line = plain_line(text)
    assert 0 < len(line) <= 200
    assert not set(line) & set("`~<>[]{}\"'\\🛠✂🔧\n\r")
    assert all(unicodedata.category(char) not in ("Cc", "Cs") for char in line)


REPLIES = (
    "{{result}}",
    "It is {{result}}.",
    "It is\n{{result}}\n{{prompt}}",
    "{{prompt}}{{result}}\n\n✂️🐱\n\n{{result}}",
    "```text\n{{result}}\n```\n\n> {{result}}\n- `{{result}}`",
    "<{{prompt}}>f({{result}})</{{prompt}}>",
    "```{{prompt}}\n{{result}}\n```",
    "~~~ {{prompt}}\n{{result}}\n~~~",
)


@given(st.sampled_from(REPLIES), HOSTILE, HOSTILE)
def test_what_came_back_never_opens_a_call(reply: str, prompt: str, result: str) -> None:
    assert parse(fill(reply, prompt, (("c1", result),))).calls == []


@given(HOSTILE)
def test_between_quotes_what_came_back_changes_no_other_part_of_a_call(text: str) -> None:
    reply = '```tool save c1\ninput: {path: "{{result}}", mode: new}\n```'
    [call] = parse(fill(reply, "", (("c0", text),))).calls
    assert call.input == {"path": plain_line(text), "mode": "new"}
