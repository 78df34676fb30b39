"""A scan says where JSON ends or breaks exactly as a reader of the whole text would."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.parsing.values.strict_json import Halt, JsonScan, ScanState, Search, find_stop

# The model: a recursive reader of whole texts. It raises `Broken` at the first character
# that no JSON can have there, and `Short` where the text ends too early, with a rest that
# would complete it.

BLANKS = " \t\r\n"
DIGITS = "0123456789"


class Broken(Exception):
    pass


class Short(Exception):
    pass


def expect(text: str, at: int, allowed: str, rest: str) -> str:
    if at == len(text):
        raise Short(rest)
    if text[at] not in allowed:
        raise Broken(at)
    return text[at]


def skip(text: str, at: int, chars: str = BLANKS) -> int:
    while at < len(text) and text[at] in chars:
        at += 1
    return at


def read_value(text: str, at: int) -> int:
    char = expect(text, at, '[{"-tfn' + DIGITS, "0")
    if char in "[{":
        return read_container(text, at)
    if char == '"':
        return read_string(text, at)
    if char in "tfn":
        return read_word(text, at, {"t": "true", "f": "false", "n": "null"}[char])
    return read_number(text, at)


def read_word(text: str, at: int, word: str) -> int:
    for offset, letter in enumerate(word):
        expect(text, at + offset, letter, word[offset:])
    return at + len(word)


def read_number(text: str, at: int) -> int:
    if text[at] == "-":
        at += 1
    leading = expect(text, at, DIGITS, "0")
    at = at + 1 if leading == "0" else skip(text, at, DIGITS)
    if text[at : at + 1] == ".":
        expect(text, at + 1, DIGITS, "0")
        at = skip(text, at + 1, DIGITS)
    if text[at : at + 1] in ("e", "E"):
        if expect(text, at + 1, "+-" + DIGITS, "0") in "+-":
            at += 1
        expect(text, at + 1, DIGITS, "0")
        at = skip(text, at + 1, DIGITS)
    return at


def read_string(text: str, at: int) -> int:
    at += 1
    while True:
        if at == len(text):
            raise Short('"')
        if text[at] < " ":
            raise Broken(at)
        if text[at] == '"':
            return at + 1
        at = read_escape(text, at + 1) if text[at] == "\\" else at + 1


def read_escape(text: str, at: int) -> int:
    if expect(text, at, '"\\/bfnrtu', 'n"') != "u":
        return at + 1
    for digit in range(4):
        expect(text, at + 1 + digit, DIGITS + "abcdefABCDEF", "0" * (4 - digit) + '"')
    return at + 5


def read_container(text: str, at: int) -> int:
    is_object = text[at] == "{"
    closer = "}" if is_object else "]"
    at = skip(text, at + 1)
    if at < len(text) and text[at] == closer:
        return at + 1
    may_close = True
    try:
        while True:
            at = read_member(text, at, closer * may_close) if is_object else read_value(text, at)
            may_close = False
            at = skip(text, at)
            if expect(text, at, "," + closer, "") == closer:
                return at + 1
            at = skip(text, at + 1)
    except Short as short:
        raise Short(str(short) + closer) from short


def read_member(text: str, at: int, closer: str) -> int:
    expect(text, at, '"', '"":0' if not closer else "")
    try:
        at = read_string(text, at)
        at = skip(text, at)
        expect(text, at, ":", "")
    except Short as short:
        raise Short(f"{short}:0") from short
    return read_value(text, skip(text, at + 1))


def model(text: str) -> tuple[ScanState, int]:
    """Say how a scan of the whole text ends, and up to where it takes it."""
    try:
        start = skip(text, 0)
        expect(text, start, "[{", "[]")
        end = read_container(text, start)
    except Short:
        return ScanState.OPEN, len(text)
    except Broken as broken:
        return ScanState.BROKEN, broken.args[0]
    tail = skip(text, end)
    return (ScanState.CLOSED if tail == len(text) else ScanState.STOPPED), tail


# Texts: JSON, JSON with a wound, and heaps of the pieces that JSON is made of.

numbers = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)
containers = st.lists(values, max_size=5) | st.dictionaries(st.text(max_size=4), values, max_size=3)
layouts = st.sampled_from([None, 0, "\t", 3])


@st.composite
def documents(draw: st.DrawFn) -> str:
    value = draw(containers)
    return json.dumps(value, indent=draw(layouts), ensure_ascii=draw(st.booleans()))


TOKENS = (
    *'[]{}",:-+.eE01 \t\n\r\\/u',
    *("[{", '{"', '"a"', '"a":', "\\u", "\\n", "\\u00", "12G", "d83d", "\x1f", "\x7f", "\u2028"),
    *(
        "true",
        "false",
        "null",
        "tru",
        "nul",
        "NaN",
        "Infinity",
        "x",
        "-0",
        "1.5e-3",
        "01",
        "\ufeff",
    ),
)
soup = st.lists(st.sampled_from(TOKENS), max_size=14).map("".join)
started_soup = st.builds(
    "{}{}".format, st.sampled_from(["[", "{", '["', '{"a":', "[{", "[1"]), soup
)


@st.composite
def wounded(draw: st.DrawFn) -> str:
    text = draw(documents())
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 3)))
    return text[:start] + draw(soup | st.text(max_size=2)) + text[end:]


texts = documents() | wounded() | soup | started_soup


@st.composite
def cut_texts(draw: st.DrawFn) -> list[str]:
    text = draw(texts)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return [text[one:other] for one, other in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def scan_pieces(pieces: list[str], max_depth: int = 100) -> tuple[JsonScan, int]:
    scan = JsonScan(max_depth)
    taken = 0
    for piece in pieces:
        step = scan.feed(piece)
        taken += step
        if step < len(piece):
            break
    return scan, taken


def facts(scan: JsonScan) -> tuple[Any, ...]:
    return (
        scan.state,
        scan.end,
        scan.complete,
        scan.elements(),
        scan.count,
        scan.last_closed,
        scan.looked_like_calls,
        scan.too_deep,
    )


@given(texts)
@example('["\\u12G4"]')
@example("[01]")
@example("[-x]")
@example("[1.e]")
@example("[tru x]")
@example('["\\q"]')
@example('["\t"]')
@example("[1,]")
@example('{"a":1,}')
@example('{"a" 1}')
@example("[NaN]")
@example("[-Infinity]")
@example("{,}")
@example("7")
@example('["\ud800"]')
def test_a_scan_breaks_stops_or_goes_on_where_a_reader_of_the_whole_text_does(text: str) -> None:
    scan, taken = scan_pieces([text])
    assert (scan.state, taken) == model(text)


PREFIXES = (
    *(
        "",
        " ",
        "[",
        "[ ",
        "[1,",
        "{",
        "{ ",
        '{"a"',
        '{"a":',
        '{"a":1',
        '{"a":1,',
        "[]",
        "{}",
        "[] ",
    ),
    *("[[]", "[{}", '{"a":[]', '{"a":{}', '[""', '{"a":""', "[true", '{"a":null'),
    *('["', '["a', '["a\\', '["a\\u', '["a\\u1', '["a\\uaF', '["a\\ud83', '["a\\u0000'),
    *('{"', '{"a', '{"a\\', '{"a\\u', '{"a\\u1', '{"a\\uaF', '{"a\\ud83', '{"a\\u0000'),
    *("[t", "[tr", "[tru", "[f", "[fa", "[fal", "[fals", "[n", "[nu", "[nul"),
    *(
        "[-",
        "[0",
        "[-0",
        "[1",
        "[-12",
        "[1.",
        "[1.0",
        "[0.25",
        "[1e",
        "[0E",
        "[1.5e",
        "[1e+",
        "[1E-",
    ),
    *("[1e5", "[1e+05", "[0e-1"),
)
CHARACTERS = (*map(chr, range(0x100)), "\u2028", "\ufeff", "\ud800", "\uff11", "🛠")


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.no_cover  # other tests walk the same ways
def test_each_place_takes_just_the_characters_that_may_follow(prefix: str) -> None:
    for char in CHARACTERS:
        expected = model(prefix + char)
        for pieces in ([prefix + char], [prefix, char], [*prefix, char]):
            scan, taken = scan_pieces(pieces)
            assert (scan.state, taken) == expected, (prefix, char)


@given(cut_texts(), st.integers(0, 4))
def test_cuts_do_not_matter(pieces: list[str], max_depth: int) -> None:
    text = "".join(pieces)
    scan, taken = scan_pieces([text], max_depth)
    for cutting in (pieces, list(text)):
        other, other_taken = scan_pieces(cutting, max_depth)
        assert (facts(other), other_taken) == (facts(scan), taken)


@given(texts)
def test_every_open_text_can_be_completed(text: str) -> None:
    scan, taken = scan_pieces([text])
    if scan.state is ScanState.BROKEN:
        text = text[:taken]
        scan, _ = scan_pieces([text])
        assert scan.state is ScanState.OPEN
    if scan.state is ScanState.OPEN:
        text += completion(text)
        assert isinstance(json.loads(text, parse_constant=refuse), list | dict)


def completion(text: str) -> str:
    start = skip(text, 0)
    try:
        expect(text, start, "[{", "[]")
        read_container(text, start)
    except Short as short:
        return str(short)
    raise AssertionError(f"nothing is missing: {text!r}")


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@given(documents(), st.text(BLANKS), st.sampled_from(["", "x", "[", "✂️🐱"]))
def test_the_end_is_where_the_standard_library_ends(text: str, blanks: str, more: str) -> None:
    scan, taken = scan_pieces([text + blanks + more])
    assert scan.end == json.JSONDecoder().raw_decode(text)[1] == len(text)
    assert scan.last_closed == (0, len(text))
    assert scan.state is (ScanState.STOPPED if more else ScanState.CLOSED)
    assert taken == len(text + blanks)


@given(st.lists(values, max_size=6), layouts, st.text(BLANKS, max_size=2))
def test_elements_are_those_of_the_array(items: list[Any], indent: int | None, lead: str) -> None:
    text = lead + json.dumps(items, indent=indent)
    scan, _ = scan_pieces([text])
    assert scan.elements() == standard_elements(text)
    assert [json.loads(text[start:end]) for start, end in scan.elements()] == items
    assert scan.count == len(items)
    assert scan.elements(since=1) == scan.elements()[1:]


def standard_elements(text: str) -> list[tuple[int, int]]:
    at = skip(text, text.index("[") + 1)
    spans: list[tuple[int, int]] = []
    while text[at] != "]":
        end: int = json.JSONDecoder().raw_decode(text, at)[1]
        spans.append((at, end))
        at = skip(text, end, BLANKS + ",")
    return spans


@given(st.dictionaries(st.text(), values, max_size=3), st.text(BLANKS, max_size=2))
def test_an_object_is_its_own_one_element(value: dict[str, Any], lead: str) -> None:
    text = lead + json.dumps(value)
    scan, _ = scan_pieces([text])
    assert scan.elements() == [(len(lead), len(text))]
    assert scan_pieces([text[:-1]])[0].elements() == []


def test_an_element_is_known_as_soon_as_it_has_ended() -> None:
    scan = JsonScan()
    counts: list[int] = []
    for char in '[{"a":[]}, "b", 12, true]':
        scan.feed(char)
        counts.append(scan.count)
    assert counts == [0] * 8 + [1] * 5 + [2] * 5 + [3] * 5 + [4] * 2


@given(documents())
def test_the_last_closed_container_is_the_one_whose_bracket_came_last(text: str) -> None:
    scan = JsonScan()
    for at, char in enumerate(text):
        before = scan.last_closed
        scan.feed(char)
        if scan.last_closed != before:
            assert scan.last_closed is not None
            start, end = scan.last_closed
            assert end == at + 1
            assert isinstance(json.loads(text[start:end]), list | dict)


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("[", False),
        ("[ {", True),
        ("[]", True),
        ("[ \n]", True),
        ("[1, {", False),
        ('["a", {}]', False),
        ('[1, {"a": 2}]', False),
        ('[[{"a": 1}], {"b": 2}]', False),
        ("[[]", False),
        ("[[], {}]", False),
        ("[{}, 1]", True),
        ("{", False),
        ('{ "', True),
        ("{}", True),
        ("{a", False),
        ("", False),
    ],
)
def test_it_knows_what_begins_like_calls(text: str, looks: bool) -> None:
    assert scan_pieces([text])[0].looked_like_calls is looks
    assert scan_pieces(list(text))[0].looked_like_calls is looks


@pytest.mark.parametrize("opening", ["[", '{"":'])
@pytest.mark.no_cover  # the same ways as of a short text, many times
def test_depth_is_counted_and_scanning_goes_on(opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    inner = "" if opening == "[" else "1"
    for depth, too_deep in ((100, False), (101, True), (100_000, True)):
        scan, _ = scan_pieces([opening * depth + inner + closing * depth])
        assert (scan.state, scan.too_deep) == (ScanState.CLOSED, too_deep)
    wrong, taken = scan_pieces([opening * 1000 + inner + closing * 999 + ")"])
    assert wrong.state is ScanState.BROKEN
    assert taken == 1000 * len(opening) + len(inner) + 999


def test_text_is_taken_from_the_place_named() -> None:
    scan = JsonScan()
    assert scan.feed('before [{"a', 7) == 11
    assert scan.feed('x": 1}] after', 1) == 8
    assert (scan.end, scan.elements()) == (10, [(1, 9)])


@pytest.mark.parametrize("text", ["[] x", "[x"])
def test_nothing_is_taken_once_the_scan_has_halted(text: str) -> None:
    scan = JsonScan()
    assert scan.feed(text) == len(text) - 1
    before = facts(scan)
    assert [scan.feed(more) for more in (" ", "]", "[", '"', "1", "")] == [0] * 6
    assert scan.feed("  ", 1) == 1
    assert facts(scan) == before


def test_long_runs_of_everything_are_taken() -> None:
    for text in ('["' + "\\n\\u00e9a" * 100_000, "[" + " \n" * 100_000, "[" + "12" * 100_000):
        scan, taken = scan_pieces([text])
        assert (scan.state, taken) == (ScanState.OPEN, len(text))


def test_a_halt_tells_its_place_as_a_match_does() -> None:
    assert Halt(3).start() == Halt(3).end() == 3
    assert Halt(3).lastindex


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(ANYTHING, st.integers(1, 7), st.sampled_from([" x", "\n", ",", "}", '"', "\\"]))
@example('a long string, with a \\ and a "quote" in it', 4, "}")
def test_an_exact_scan_stops_right_after_any_value(value: Any, piece: int, rest: str) -> None:
    text = json.dumps(value, ensure_ascii=False)
    whole = text + rest
    scan, at, held = JsonScan(exact=True), 0, ""
    quicker: list[Search] = []
    while at < len(whole) and scan.state is ScanState.OPEN:
        given_text, scan.halt = held + whole[at : at + piece], 0
        start, at = at - len(held), at + piece
        hit = (quicker or [scan.search(quicker.append)])[-1](given_text)
        held = given_text[hit.start() :] if hit and not hit.lastindex else ""
        if hit and hit.lastindex:
            # As a reader does: what the search did not take itself is fed.
            at = start + scan.feed(given_text, scan.halt)
            quicker.clear()
    assert scan.state is ScanState.STOPPED
    assert at == len(text)


def in_string(text: str) -> bool:
    """Return whether a string goes on behind this text in it, outside of an escape."""
    scan = JsonScan(exact=True)
    scan.feed('"')
    scan.feed(text)
    return scan.in_string


def check_search(text: str) -> None:
    hit = find_stop(text)
    if hit is None:
        assert in_string(text)
    elif not hit.lastindex:
        assert in_string(text[: hit.start()])
        assert not in_string(text)


def test_the_search_in_a_string_passes_what_the_scan_passes() -> None:
    texts = (text for size in range(1, 7) for text in product('\\"nx', repeat=size))
    for text in texts:
        check_search("".join(text))


@pytest.mark.parametrize("size", [999, 1000, 1001, 1002, 2001])
@pytest.mark.parametrize("end", ["", "n", '"', "x", "u0041", "\n", 'n"'])
def test_long_runs_of_backslashes_are_passed_or_left_to_the_scan(size: int, end: str) -> None:
    check_search("\\" * size + end)
