"""Calls in the API's own form, as servers really stream them: one slot a call, nothing glued."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.models.openai.reply_reader import CallSlots, NativeCall

CITY = '{"city": "Oslo"}'
OTHER = '{"city": "Rome"}'


def delta(index: int | None = None, id: Any = None, name: str = "", arguments: Any = "") -> Any:
    function = {"name": name or None, "arguments": arguments}
    return msgspec.convert({"index": index, "id": id, "function": function}, NativeCall)


def joined(*deltas: NativeCall) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each call, in the order in which they opened."""
    slots, calls = CallSlots(), dict[int, list[str]]()
    for one in deltas:
        piece = slots.take(one)
        call = calls.setdefault(piece.slot, ["", "", ""])
        for at, text in enumerate((piece.id, piece.name, piece.text)):
            call[at] += text
    return [(id, name, text) for id, name, text in calls.values()]


@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        pytest.param(
            [delta(0, "a", "f"), delta(0, arguments=CITY), delta(1, "b", "g", OTHER)],
            [("a", "f", CITY), ("b", "g", OTHER)],
            id="as published",
        ),
        pytest.param(
            [
                delta(0, "a", "f"),
                delta(1, "b", "f"),
                *(
                    one
                    for left, right in zip(CITY, OTHER, strict=True)
                    for one in (delta(0, arguments=left), delta(1, arguments=right))
                ),
            ],
            [("a", "f", CITY), ("b", "f", OTHER)],
            id="interleaved",
        ),
        pytest.param(
            [delta(None, "a", "f", CITY[:5]), delta(arguments=CITY[5:]), delta(None, "b", "g")],
            [("a", "f", CITY), ("b", "g", "")],
            id="no index",
        ),
        pytest.param(
            [delta(None, None, "f", CITY), delta(None, None, "f", OTHER)],
            [("", "f", CITY), ("", "f", OTHER)],
            id="no index and no id",
        ),
        pytest.param(
            [delta(0, "a", "f", CITY), delta(0, "b", "g", OTHER)],
            [("a", "f", CITY), ("b", "g", OTHER)],
            id="index 0 for every call",
        ),
        pytest.param(
            [delta(0, "a", "f", CITY), delta(1, "a", "f", OTHER)],
            [("a", "f", CITY), ("a", "f", OTHER)],
            id="one id for two calls",
        ),
        pytest.param(
            [delta(None, "a", "f", CITY), delta(None, "a", "f", OTHER)],
            [("a", "f", CITY), ("a", "f", OTHER)],
            id="one id for two calls without an index",
        ),
        pytest.param(
            [delta(0, "a", "f", CITY[:3]), delta(0, "a", "f", CITY[3:]), delta(0, "a", "f")],
            [("a", "f", CITY)],
            id="id and name in every delta",
        ),
        pytest.param(
            [delta(0, None, "f", CITY[:3]), delta(0, None, "f", CITY[3:])],
            [("", "f", CITY)],
            id="name in every delta",
        ),
        pytest.param(
            [delta(0, 7, "f", {"city": "Oslo"})],
            [("7", "f", '{"city":"Oslo"}')],
            id="arguments as an object and a number for an id",
        ),
        pytest.param([delta(0, "a", "", CITY)], [("a", "", CITY)], id="no name"),
        pytest.param(
            [delta(0, None, "f", CITY), delta(0, None, "f"), delta(0, None, "", OTHER)],
            [("", "f", CITY), ("", "f", OTHER)],
            id="index 0, no id, and the name before its arguments",
        ),
        pytest.param(
            [delta(0, None, "f", CITY), delta(0, None, "f")],
            [("", "f", CITY)],
            id="a name that is said once more",
        ),
    ],
)
def test_a_slot_is_one_call(deltas: list[NativeCall], calls: list[tuple[str, str, str]]) -> None:
    assert joined(*deltas) == calls


@given(st.lists(st.tuples(st.text("abc", min_size=1), st.text("xyz"), st.integers(1, 5))))
def test_calls_are_the_same_however_their_arguments_are_cut(
    calls: list[tuple[str, str, int]],
) -> None:
    deltas: list[NativeCall] = []
    wanted: list[tuple[str, str, str]] = []
    for at, (name, value, size) in enumerate(calls):
        text = msgspec.json.encode({"value": value}).decode()
        deltas.append(delta(at, f"c{at}", name))
        deltas += [delta(at, arguments=text[i : i + size]) for i in range(0, len(text), size)]
        wanted.append((f"c{at}", name, text))
    assert joined(*deltas) == wanted
