from __future__ import annotations

import math
import re
import struct
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from callblocks.approvals.approval import BadApproval, fingerprint, grant_key
from callblocks.core.specs import ToolSpec
from callblocks.tools.tool import Tool, Traits
from support.policies import a_tool, values

TOOL = a_tool("act", a={"type": "string"})
INPUTS = st.dictionaries(st.text(max_size=2), values, max_size=3)


def of(value: Any) -> str:
    return fingerprint(TOOL, {"a": value}, "p")


def shuffled(value: Any, order: Any) -> Any:
    """The value with the keys of every object in another order."""
    if isinstance(value, list):
        return [shuffled(item, order) for item in value]
    if isinstance(value, dict):
        names = list(value)
        order.shuffle(names)
        return {name: shuffled(value[name], order) for name in names}
    return value


def exact(value: Any) -> Any:
    """A form in which only what is the same is equal."""
    if isinstance(value, list):
        return ["list", *map(exact, value)]
    if isinstance(value, dict):
        return {name: exact(item) for name, item in value.items()}
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else struct.pack(">d", value))
    return (type(value).__name__, value)


@given(INPUTS, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(given_input: dict[str, Any], order: Any) -> None:
    other = shuffled(given_input, order)
    assert fingerprint(TOOL, other, "p") == fingerprint(TOOL, given_input, "p")


@given(INPUTS, INPUTS)
def test_inputs_that_differ_have_other_fingerprints(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    same = fingerprint(TOOL, one, "p") == fingerprint(TOOL, other, "p")
    assert same == (exact(one) == exact(other))


@given(INPUTS, st.data())
def test_a_change_of_any_value_changes_the_fingerprint(
    given_input: dict[str, Any], data: st.DataObject
) -> None:
    assume(given_input)
    name = data.draw(st.sampled_from(sorted(given_input)))
    value = data.draw(values)
    assume(exact(value) != exact(given_input[name]))
    changed = {**given_input, name: value}
    assert fingerprint(TOOL, changed, "p") != fingerprint(TOOL, given_input, "p")


LOOKALIKES: list[Any] = [
    *(None, True, False, 0, 1, -1, 16, 0.0, -0.0, 1.0, math.inf, -math.inf, math.nan),
    *("", "0", "1", "true", "null", "s1:a", "\ud800", "\udfff", "\ufffd", "é", "e\u0301"),
    *([], [[]], [""], [None], ["a", "b"], ["ab"], ["a,b"], [1, [2]], [[1], 2], [1, 2]),
    *({}, {"": None}, {"a": 1}, {"a": "1"}, {"b": 1}, {"a": {"b": 1}}, {"a.b": 1}, [{"a": 1}]),
    *({"\ud800": 1}, {"\udfff": 1}, {"\ufffd": 1}),
    *({"a": 1, "b": 2}, ["a", 1, "b", 2], 10**5000, 10**5000 + 1),
]


def test_values_that_look_alike_are_all_told_apart() -> None:
    assert len({of(value) for value in LOOKALIKES}) == len(LOOKALIKES)


def test_every_nan_is_the_same_and_a_tuple_is_a_list() -> None:
    other_nan = struct.unpack(">d", b"\x7f\xf8\x00\x00\x00\x00\x00\x01")[0]
    assert of(other_nan) == of(math.nan) == of(-math.nan)
    assert of((1, 2)) == of([1, 2])


def test_a_fingerprint_is_64_hex_digits_that_stay() -> None:
    assert re.fullmatch("[0-9a-f]{64}", of("x"))
    many = {"n": [None, True, False, 255, -1.5, "é", {"b": 1, "a": []}]}
    assert (
        fingerprint(TOOL, many, "p", place="/w")
        == "3e522c2ba1647345fa9558165012818d2d6bc814edeac2462b17bc08e2011b68"
    )
    assert (
        grant_key(TOOL, "p", True, place="/w")
        == "3d9ab30ee9024ec097dd763bad8e5f0c9fb01090100d58a8d856282d7040e1b3"
    )


@pytest.mark.parametrize("value", [b"x", object(), {1}, {1: 2}, {"a": {None: 1}}, [b"x"]])
def test_what_is_no_json_cannot_be_approved(value: Any) -> None:
    with pytest.raises(BadApproval, match=r"it cannot be approved$"):
        of(value)


def test_the_message_names_what_cannot_be_approved() -> None:
    with pytest.raises(BadApproval, match=r"^b'x' is no JSON value: it cannot be approved$"):
        of(b"x")
    with pytest.raises(BadApproval, match=r"^\{1: 2\} has a key that is no text: "):
        of({1: 2})


def test_what_never_ends_cannot_be_approved() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(BadApproval, match=r"^an input nested this deep cannot be approved$"):
        of(circle)


def changed(**change: Any) -> Tool:
    return msgspec.structs.replace(TOOL, **change)


def spec(**change: Any) -> Tool:
    return changed(spec=msgspec.structs.replace(TOOL.spec, **change))


OTHERS = [
    spec(name="act2"),
    spec(description="Act, and tell nobody."),
    spec(parameters={}),
    spec(body="a"),
    changed(traits=Traits(destructive=False)),
    changed(traits=Traits(kind="exec")),
    changed(origin="external"),
]


def test_a_tool_that_changed_is_another_one() -> None:
    tools = [TOOL, *OTHERS]
    assert len({fingerprint(tool, {}, "p") for tool in tools}) == len(tools)
    assert len({grant_key(tool, "p", False) for tool in tools}) == len(tools)


def test_an_approval_is_for_one_policy_and_one_place() -> None:
    prints = {
        fingerprint(TOOL, {}, "p"),
        fingerprint(TOOL, {}, "q"),
        fingerprint(TOOL, {}, "p", place="/w"),
        fingerprint(TOOL, {}, "", place="p"),
    }
    assert len(prints) == 4
    keys = {
        grant_key(TOOL, "p", False),
        grant_key(TOOL, "q", False),
        grant_key(TOOL, "p", True),
        grant_key(TOOL, "p", False, place="/w"),
    }
    assert len(keys) == 4
    assert not keys & prints


def test_no_place_is_the_empty_place() -> None:
    assert fingerprint(TOOL, {}, "p") == fingerprint(TOOL, {}, "p", place="")
    assert grant_key(TOOL, "p", False) == grant_key(TOOL, "p", False, place="")


def test_a_grant_is_no_approval_of_a_call_that_looks_like_it() -> None:
    plain = msgspec.structs.replace(TOOL, spec=ToolSpec("x"))
    odd: Any = True
    assert fingerprint(plain, odd, "p") != grant_key(plain, "p", True)
