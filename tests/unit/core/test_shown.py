from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.core.call_text import (
    escape,
    escape_call,
    escape_id,
    escape_name,
    escape_prose,
    escape_result,
    format_size,
    neutralise_mentions,
    restore_mentions,
    show_arguments,
    show_call,
    show_result,
    split_cut,
    to_compact_text,
    unescape,
    unescape_call,
    unescape_id,
    unescape_prose,
    unescape_result,
)

# Text that is likely to confuse an escape: references, tags, marks, and parts of them.
TRICKY = st.lists(
    st.sampled_from(
        [
            *"<>&;\"'@()/ \n\r\u200b\ufe0f❌✅🔧*`",
            "amp;",
            "lt;",
            "&lt;",
            "&amp;",
            "#10060;",
            "#128295;",
            "#9989;",
            "#40;",
            "tool",
            "TOOL",
            "validation",
            "<tool>",
            "</tool>",
            "❌ ",
            "🔧 **Tool Call:** `",
            "✅ **`x` result:**",
        ]
    )
).map("".join)
ANY_TEXT = st.one_of(st.text(), TRICKY, st.text(st.characters(categories=["Cs", "L", "P"])))
BLOCK_MARK = re.compile(
    r"</?(?:tool|validation)|🔧\ufe0f? *\*\* *Tool Call|✅\ufe0f? *\*\* *`", re.IGNORECASE
)


class Unsayable:
    def __str__(self) -> str:
        raise LookupError


def deep(levels: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("name", "input", "shown"),
    [
        ("run_shell_command", {"args": ["uname", "-a"]}, 'run_shell_command(args=["uname", "-a"])'),
        ("read_file", {"file_name": "pyproject.toml"}, "read_file(file_name=pyproject.toml)"),
        ("list_files", {"kwargs": {}}, "list_files(kwargs={})"),
        ("now", {}, "now()"),
        ("now", None, "now()"),
        ("f", {"b": 1, "a": None, "c": True}, "f(b=1, a=null, c=true)"),
        ("f", {"x": {"b": "é", "a": [1.5]}}, 'f(x={"a": [1.5], "b": "é"})'),
        ("f\ng", {"a\rb": "c\r\nd"}, "f g(a b=c  d)"),
        ("f", {"x": float("nan")}, "f(x=nan)"),
        ("f", {"x": b"raw"}, "f(x=b'raw')"),
        ("f", {"x": {1: "a", "b": 2}}, "f(x={1: 'a', 'b': 2})"),
        ("f", {"x": Unsayable()}, "f(x=<Unsayable>)"),
        ("f", {"x": deep(100_000)}, "f(x=<list>)"),
        ("f", {"api_key": "two words", "token": None}, "f(api_key=••••••••, token=null)"),
        ("f", {"headers": {"Authorization": "x"}}, 'f(headers={"Authorization": "••••••••"})'),
    ],
)
def test_a_call_is_shown_in_one_line(name: str, input: dict[str, object], shown: str) -> None:
    assert show_call(name, input) == (shown, False)


def test_one_value_is_cut_at_250_characters() -> None:
    assert show_arguments({"a": "x" * 250}) == ("a=" + "x" * 250, False)
    assert show_arguments({"a": "x" * 251, "b": 1}) == ("a=" + "x" * 250 + "…, b=1", True)


def test_all_arguments_are_cut_at_1200_characters() -> None:
    values = {f"k{at}": "x" * 197 for at in range(6)}
    shown, truncated = show_arguments(values)
    assert truncated
    assert len(shown) == 1201
    assert shown.endswith("x…")


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (None, ""),
        ("", ""),
        ("two\nlines", "two\nlines"),
        ({"b": 1, "a": "é"}, '{"a": "é", "b": 1}'),
        (0, "0"),
        (False, "false"),
        ([], "[]"),
        ("x" * 500, "x" * 500),
    ],
)
def test_a_result_is_shown_as_text(result: object, shown: str) -> None:
    assert show_result(result) == (shown, False)


def test_a_long_result_is_cut_and_says_its_whole_size_in_bytes() -> None:
    assert show_result("x" * 2355) == ("x" * 500 + "… (truncated, 2.3KB)", True)
    assert show_result("é" * 501) == ("é" * 500 + "… (truncated, 1002B)", True)


def test_secrets_are_redacted_before_the_cut() -> None:
    text = "x" * 494 + " ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    assert show_result(text) == ("x" * 494 + " •••••… (truncated, 535B)", True)


def test_a_cut_never_parts_a_surrogate_pair() -> None:
    shown, _ = show_result("x" * 499 + "\ud83d\ude00" + "x")
    assert shown == "x" * 499 + "… (truncated, 506B)"


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1.0KB"),
        (2355, "2.3KB"),
        (1_048_524, "1023.9KB"),
        (1_048_525, "1.0MB"),
        (10 * 1024**3, "10240.0MB"),
    ],
)
def test_sizes_have_one_decimal(size: int, said: str) -> None:
    assert format_size(size) == said


@given(st.text(min_size=501, max_size=600))
def test_a_cut_result_comes_apart_again(text: str) -> None:
    assert split_cut(show_result(text)[0]) == (
        text[:500],
        format_size(len(text.encode())),
    )


def test_a_result_that_was_not_cut_stays_whole() -> None:
    assert split_cut("… (truncated, lots)") == ("… (truncated, lots)", None)


@given(st.one_of(st.text(), st.integers(), st.dictionaries(st.text(), st.floats())))
def test_every_value_has_a_text(value: object) -> None:
    assert isinstance(to_compact_text(value), str)


@given(ANY_TEXT)
def test_mentions_are_neutralised_and_restored(text: str) -> None:
    neutral = neutralise_mentions(text)
    assert restore_mentions(neutral) == text
    assert not re.search("@(?!\u200b)", neutral)


@given(ANY_TEXT)
def test_unescape_undoes_escape(text: str) -> None:
    raw = escape(text)
    assert unescape(raw) == text
    assert not set(raw) & set("<>\"'")


def test_references_that_are_not_ours_stay() -> None:
    assert unescape("&eacute;&nbsp;&#65;&amp;lt;") == "&eacute;&nbsp;&#65;&lt;"


@given(ANY_TEXT, ANY_TEXT | st.none())
@example("a(b", "c)")
def test_a_call_line_reads_back_as_its_name_and_arguments(name: str, shown: str | None) -> None:
    raw = escape_call(name, shown)
    assert unescape_call(raw) == (one_line(name), shown if shown is None else one_line(shown))
    assert not set(raw) & set("<>\"'\r\n")
    assert raw.startswith(escape_name(name))


@given(ANY_TEXT)
def test_an_id_reads_back_and_stays_inside_its_quotes(id: str) -> None:
    raw = escape_id(id)
    assert unescape_id(raw) == id
    assert not set(raw) & set("<>\"'@\r\n")


@given(ANY_TEXT, st.booleans())
@example("❌ looks failed", False)
@example("&#10060; looks escaped", False)
@example("", True)
def test_a_result_reads_back_with_whether_it_failed(text: str, failed: bool) -> None:
    raw = escape_result(text, failed)
    assert unescape_result(raw) == (text, failed)
    assert raw.startswith("❌") == failed
    assert not set(raw) & set("<>")


def test_only_what_looks_like_a_block_is_escaped_in_prose() -> None:
    assert escape_prose("a < b && <b>x</b> &lt; 🔧 tools ✅ **done**") == (
        "a < b && <b>x</b> &lt; 🔧 tools ✅ **done**"
    )
    assert escape_prose("<tool>x</TOOL> <Validation>") == "&lt;tool>x&lt;/TOOL> &lt;Validation>"
    assert escape_prose("&lt;tool &amp;lt;/tool") == "&amp;lt;tool &amp;amp;lt;/tool"
    assert escape_prose("🔧 **Tool Call:** `f()`") == "&#128295; **Tool Call:** `f()`"
    assert escape_prose("<valıdation>") == "<valıdation>"
    assert escape_prose("✅ **`f` result:**") == "&#9989; **`f` result:**"


@given(ANY_TEXT)
def test_prose_reads_back_and_has_no_block_in_it(text: str) -> None:
    raw = escape_prose(text)
    assert unescape_prose(raw) == text
    assert not BLOCK_MARK.search(raw)


@given(ANY_TEXT, st.integers(1, 5))
def test_prose_can_be_escaped_many_times(text: str, levels: int) -> None:
    raw = text
    for _ in range(levels):
        raw = escape_prose(raw)
    for _ in range(levels):
        raw = unescape_prose(raw)
    assert raw == text


def one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
