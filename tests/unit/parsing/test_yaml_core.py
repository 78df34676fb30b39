"""YAML 1.2 core types, one document, and one kind of error for every other text."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.parsing.values.yaml_core import (
    YamlError,
    load,
    read_plain,
    read_with_libyaml,
)


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, None) for word in ("", "~", "null", "Null", "NULL", "# nothing")),
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("false", "False", "FALSE")),
        ("0", 0),
        ("-1", -1),
        ("+12", 12),
        ("017", 17),
        ("-08", -8),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("1E-2", 0.01),
        ("+1.5e+1", 15.0),
        ("01.50", 1.5),
        ("1e999", math.inf),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("+.INF", math.inf),
        ("9" * 4000, int("9" * 4000)),
    ],
)
def test_plain_scalars_have_the_core_types(text: str, value: Any) -> None:
    assert same(load(text), value)
    assert same(load(f"a: {text}\n")["a"], value)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_nan_is_a_float(text: str) -> None:
    assert math.isnan(load(text))


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "Yes", "no", "on", "off", "y", "n", "tRUE", "nULL", "nil", "None"),
        *("2024-01-02", "2024-01-02T10:00:00Z", "12:30:45", "1_000", "0b1", "0b_1"),
        *("0o8", "0x", "-0x1", "-0o7", "+", "-1-", ".", "1.2.3", "1e", "e3", ".e3", "+.nan"),
        *("inf", "nan", "-.", "1 2", "１２", "٣", "=", "<<", "a\u2028b", "nulls"),
    ],
)
def test_whatever_else_is_plain_is_a_string(text: str) -> None:
    assert load(f"a: {text}") == {"a": text}


@pytest.mark.parametrize("style", ['"{}"', "'{}'", "|-\n  {}", ">-\n  {}"])
@pytest.mark.parametrize("text", ["true", "null", "12", "1.5", "~", ".inf"])
def test_quoted_scalars_and_blocks_are_strings(style: str, text: str) -> None:
    assert load("a: " + style.format(text)) == {"a": text}


def test_keys_are_strings_as_written() -> None:
    text = "1: a\ntrue: b\n~: c\n1.50: d\n2024-01-02: e\n<<: {f: g}\n'': h\n? [i]\n"
    with pytest.raises(YamlError, match="a key is one string"):
        load(text)
    assert list(load(text.partition("? ")[0])) == ["1", "true", "~", "1.50", "2024-01-02", "<<", ""]
    assert load("<<: {a: 1}\na: 2") == {"<<": {"a": 1}, "a": 2}
    assert load("{? : 1}") == {"": 1}


def test_one_document_may_have_its_markers_and_directives() -> None:
    assert load("%YAML 1.2\n---\na: 1\n...\n") == {"a": 1}
    assert load("\ufeff--- [a, {b: c}]\n") == ["a", {"b": "c"}]


def test_what_ended_lines_in_yaml_1_1_is_text() -> None:
    odd = "x\u2028y\x85z\u2029"
    private = "\\U000F0000\\U000f0001\U000f0002"
    text = f'a: "{odd}"\nb: |\n  {odd}\nc: {odd}w\nd: "{private}"\n{odd}: e\n'
    assert load(text) == {
        "a": odd,
        "b": odd + "\n",
        "c": odd + "w",
        "d": "\U000f0000\U000f0001\U000f0002",
        odd: "e",
    }


BOMB = "a: &a [x, x]\n" + "".join(
    f"{key}: &{key} [*{last}, *{last}]\n" for last, key in ["ab", "bc"]
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [1", "did not find expected ',' or ']'"),
        ("a: b: c", "mapping values are not allowed in this context, line 1"),
        ("a: 1\n\tb: 2", "line 2"),
        ("a: '", "unexpected end of stream"),
        ("%YAML 3.0\n---\na", "incompatible"),
        ("a: 1\n---\nb: 2", "more than one document"),
        ("--- 1\n--- 2", "more than one document"),
        ("a: 1\na: 2", "the key 'a' stands twice"),
        ("1: a\n'1': b", "the key '1' stands twice"),
        ("x: {a: 1, a: 1}", "the key 'a' stands twice"),
        ("a: &x 1", "anchors are not taken: &x"),
        ("&x {a: 1}", "anchors are not taken: &x"),
        ("a: *x", r"aliases are not taken: \*x"),
        ("*x : 1", r"aliases are not taken: \*x"),
        (BOMB, "anchors are not taken: &a"),
        ("a: !!str 1", "tags are not taken: tag:yaml.org,2002:str"),
        ("a: ! 1", "tags are not taken: !"),
        ("a: !foo [1]", "tags are not taken: !foo"),
        ("!!map {}", "tags are not taken"),
        ("!!python/object/apply:os.system ['true']", "tags are not taken"),
        ("[a]: b", "a key is one string"),
        ("? {a: b}\n: c", "a key is one string"),
        ("? " * 10_000, "a key is one string"),
        ("a: \ud800", "a lone surrogate"),
        ('a: "\\ud800"', "invalid Unicode character escape"),
        ("a: \0", "control characters are not allowed"),
        ("9" * 5000, "a number of 5000 characters is too long"),
        ("-" + "9" * 5000, "too long"),
        ("0x" + "f" * 5000, "too long"),
        ("0o" + "7" * 9000, "too long"),
    ],
)
def test_refused_texts_say_why(text: str, reason: str) -> None:
    with pytest.raises(YamlError, match=reason) as caught:
        load(text)
    assert caught.value.code == "yaml"
    assert caught.value.reason == str(caught.value)


DEEP = 10_000


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP,
        "[" * DEEP + "]" * DEEP,
        "{a: " * DEEP,
        "- " * DEEP + "a",
        "".join(" " * depth + "a:\n" for depth in range(200)),
    ],
)
def test_deep_nesting_is_refused_at_any_depth(text: str) -> None:
    with pytest.raises(YamlError) as caught:
        load(text)
    assert caught.value.code == "too-deep"


def test_the_depth_allowed_is_the_one_named() -> None:
    for depth in (1, 3, 100):
        text = "[" * depth + "]" * depth
        assert load(text, depth) == nested_list(depth)
        with pytest.raises(YamlError) as caught:
            load(f"a: {text}", depth)
        assert caught.value.code == "too-deep"


def nested_list(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


PIECES = (
    *"abc019 \t\n-+.:,#?|>&*!%@`'\"[]{}~=<",
    *(
        ": ",
        "- ",
        "? ",
        "\n  ",
        "\n\n",
        "---\n",
        "...\n",
        "a: ",
        "b: ",
        "<<: ",
        "&a ",
        "*a ",
        "!!int ",
    ),
    *(
        "true",
        "null",
        "0x",
        "0o7",
        "1e5",
        ".inf",
        "|2-\n",
        "\\u",
        "\x85",
        "\u2028",
        "\ufeff",
        "\r\n",
    ),
)
soup = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
any_text = st.text(st.characters(exclude_categories=()))


@given(soup | any_text)
@example("%")
@example("\ufeff")
@example("!<tag:yaml.org,2002:python/name:os.system> ''")
def test_any_text_gives_a_json_like_value_or_the_one_error(text: str) -> None:
    try:
        value = load(text)
    except YamlError:
        return
    assert_json_like(value)


def assert_json_like(value: object) -> None:
    if isinstance(value, dict):
        assert all(type(key) is str for key in value)
        assert_json_like(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            assert_json_like(item)
    else:
        assert type(value) in (str, int, float, bool, type(None))


def test_other_users_of_pyyaml_see_no_change() -> None:
    text = "a: yes\nb: &x 2024-01-02\nc: *x\n"
    load("a: yes")
    assert yaml.load(text, yaml.CSafeLoader) == yaml.load(text, yaml.SafeLoader)
    assert yaml.safe_load(text)["a"] is True


LINES = st.sampled_from(
    [
        *("a: 1", "b:", "c: |", "d: |-", "word", "two words", "- x", "# c", "e: f # c", "g : h"),
        *("i: j: k", 'l: "m"', "n: true", "o: ~", "p: 2024-01-02", "q: 1.5e3", "r: 0x1f"),
        *("s: a,b", "t:  u", "v: w ", "---", "...", "\tx", "é: x", "y: é", "z: 12:30", "a: 2"),
        *(": b", "*a"),
    ]
)
INDENTED = st.builds(str.__add__, st.sampled_from(["", "", "  ", "    ", " "]), LINES | st.just(""))


@given(st.lists(INDENTED, max_size=6), st.sampled_from(["", "\n", "\n\n"]), st.integers(1, 3))
@example(["a:", "  b: |", "    c", "", "     d"], "\n\n", 3)
@example(["a: |-", "  b", "    ", "c: 1"], "", 3)
@example(["a: |", " \tb"], "\n", 3)
@example(["a: " + "1" * 5000], "\n", 3)
@example(["a: |", "", " b"], "\n", 3)
@example(["a: |", "b: 1"], "\n", 3)
@example(["a:", "  b:", "    c: 1"], "\n", 2)
@example(["a:", "  b: 1", "c: 1"], "\n", 2)
def test_a_plain_mapping_is_what_libyaml_reads(lines: list[str], end: str, depth: int) -> None:
    text = "\n".join(lines) + end
    plain, doubts = read_plain(text, depth), list[tuple[str, str]]()
    if plain is not None:
        assert repr(read_with_libyaml(text, depth, doubts)) == repr(plain)
        assert not doubts
